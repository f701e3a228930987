/** Asks a person at the terminal one question with yes or no. */
import { createInterface } from 'node:readline'
import type { Cli } from './cli.ts'

/** Whether a person can be asked: both ends are a terminal. */
export function canAsk({ stdin, stderr }: Pick<Cli, 'stdin' | 'stderr'>): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}

/**
 * Resolves with true for `y` or `yes`, with false for every other answer, for the end of the input, and once `signal`
 * is aborted.
 */
export function confirm(
  { stdin, stderr }: Pick<Cli, 'stdin' | 'stderr'>,
  question: string,
  signal?: AbortSignal,
): Promise<boolean> {
  stderr.write(`${question} [y/N] `)
  // The terminal stays in its own line mode, so that Ctrl-C still reaches the process as a signal.
  const lines = createInterface({ input: stdin, terminal: false, ...(signal && { signal }) })
  return new Promise((resolve) => {
    const end = (answer: boolean) => {
      resolve(answer)
      lines.close()
    }
    lines.once('line', (line) => end(/^\s*y(es)?\s*$/i.test(line)))
    lines.once('close', () => end(false))
  })
}
