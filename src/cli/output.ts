/**
 * Output of a command. The result is written to stdout: text for people, or one document with `--json`. Everything else
 * is written to stderr, so that a pipe carries only results.
 */
import type { createColors } from 'picocolors'
import type { Ids } from '../ports/random.ts'
import { problemOutput } from '../system/process/problem-output.ts'

export interface Output {
  /** Writes the command's result. `text` is called only without `--json`. Resolves once stdout has accepted it. */
  result(value: unknown, text: () => string): Promise<void>
  /** Writes a remark to stderr. */
  note(text: string): void
  problem(error: unknown): Promise<void>
}

interface Streams {
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream
  colors: ReturnType<typeof createColors>
  ids: Ids
}

export function createOutput({ stdout, stderr, colors, ids }: Streams, json: boolean): Output {
  const indent = stdout.isTTY === true ? 2 : 0
  return {
    async result(value, text) {
      const document = json ? JSON.stringify(value, null, indent) : text()
      if (document !== '') await write(stdout, `${document}\n`)
    },
    note: (text) => void stderr.write(`${text}\n`),
    async problem(error) {
      const texts = problemOutput(error, ids.next(), { json, indent, colors })
      stderr.write(texts.stderr)
      if (texts.stdout !== '') await write(stdout, texts.stdout)
    },
  }
}

/** Resolves once the stream has accepted every byte. Rejects if its reader is gone. */
export async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.once('error', reject)
    stream.write(text, (error) => {
      if (error) return reject(error)
      stream.off('error', reject)
      resolve()
    })
  })
}
