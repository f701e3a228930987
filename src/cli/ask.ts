/** Asks a person at the terminal a yes-or-no question. */
import { createInterface } from 'node:readline'
import type { Cli } from './cli.ts'

/** Returns true if a person can answer: stdin and stderr are terminals. */
export function canAsk({ stdin, stderr }: Pick<Cli, 'stdin' | 'stderr'>): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}

/**
 * Resolves with true for `y` or `yes`. Resolves with false for any other answer, at the end of the input, and when
 * `signal` is aborted.
 */
export function confirm(
  { stdin, stderr }: Pick<Cli, 'stdin' | 'stderr'>,
  question: string,
  signal?: AbortSignal,
): Promise<boolean> {
  stderr.write(`${question} [y/N] `)
  // The terminal stays in line mode, so that Ctrl-C still reaches the process as a signal.
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
