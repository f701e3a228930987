/**
 * What a command says. Results on stdout: text for people, or with `--json` exactly one document. All
 * else on stderr, so that a pipe only ever carries results.
 */
import type { Cli } from './cli.ts'
import { problemOutput } from '../system/problem-output.ts'

export interface Output {
  /** The command's one result. `text` is only made where a person reads it. Resolves once stdout took it. */
  result(value: unknown, text: () => string): Promise<void>
  /** A remark beside the result. */
  note(text: string): void
  problem(error: unknown): Promise<void>
}

type Streams = Pick<Cli, 'stdout' | 'stderr' | 'colors' | 'ids'>

export function createOutput({ stdout, stderr, colors, ids }: Streams, json: boolean): Output {
  const indent = stdout.isTTY === true ? 2 : 0
  return {
    async result(value, text) {
      const document = json ? JSON.stringify(value, null, indent) : text()
      if (document !== '') await write(stdout, `${document}\n`)
    },
    note: (text) => void stderr.write(`${text}\n`),
    async problem(error) {
      const told = problemOutput(error, ids.next(), { json, indent, colors })
      stderr.write(told.stderr)
      if (told.stdout !== '') await write(stdout, told.stdout)
    },
  }
}

/** Resolves once the stream took every byte; rejects when its reader is gone. */
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
