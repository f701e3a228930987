/**
 * What a command says. Results on stdout: text for people, or with `--json` exactly one document. All
 * else on stderr, so that a pipe only ever carries results.
 */
import { toProblem, TurnbellError, type Problem } from '../contracts/errors.ts'
import type { Cli } from './cli.ts'

export interface Output {
  /** The command's one result. `text` is only made where a person reads it. Resolves once stdout took it. */
  result(value: unknown, text: () => string): Promise<void>
  /** A remark beside the result. */
  note(text: string): void
  problem(error: unknown): Promise<void>
}

type Streams = Pick<Cli, 'stdout' | 'stderr' | 'colors' | 'ids'>

export function createOutput({ stdout, stderr, colors, ids }: Streams, json: boolean): Output {
  const note = (text: string) => void stderr.write(`${text}\n`)
  return {
    async result(value, text) {
      const document = json ? JSON.stringify(value, null, stdout.isTTY === true ? 2 : 0) : text()
      if (document !== '') await write(stdout, `${document}\n`)
    },
    note,
    async problem(error) {
      const problem = toProblem(error, ids.next())
      if (json) await write(stdout, `${JSON.stringify(problem, null, stdout.isTTY === true ? 2 : 0)}\n`)
      else note(describeProblem(problem, colors))
      // No log has the stack of a command; without it nobody could mend the bug.
      if (!(error instanceof TurnbellError))
        note(error instanceof Error ? String(error.stack) : String(error))
    },
  }
}

/** Title, what was wrong this time, and what to do about it. */
export function describeProblem(
  problem: Problem,
  colors: Pick<Cli['colors'], 'red' | 'bold' | 'dim'>,
): string {
  return [
    `${colors.red(colors.bold('error'))} ${colors.bold(problem.title)} (${problem.code})`,
    `      ${problem.detail}`,
    `${colors.dim('hint')}  ${problem.hint}`,
  ].join('\n')
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

/** All of a stream as text, at most `bytes_max` bytes: more is a usage error, not a memory problem. */
export async function readAll(stream: NodeJS.ReadableStream, bytes_max: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    size += bytes.length
    if (size > bytes_max) {
      throw new TurnbellError('usage_invalid', {
        detail: `stdin holds more than ${bytes_max} bytes`,
        hint: 'Write the content to a file and send where it is.',
      })
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}
