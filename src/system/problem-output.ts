/** An error as the command line shows it, the same in every program: title, detail and hint, or the problem object. */
import { systemClock } from './clock.ts'
import { createIds, systemRandom } from './random.ts'
import { isFullDisk, isSystemError } from './system-error.ts'
import { toProblem, TurnbellError } from '../contracts/errors.ts'

type Paint = (text: string) => string

export interface ProblemStyle {
  json: boolean
  indent?: number
  colors?: { red: Paint; bold: Paint; dim: Paint }
}

const same: Paint = (text) => text
const PLAIN = { red: same, bold: same, dim: same }

/** What goes to which stream. */
export function problemOutput(
  error: unknown,
  instance: string,
  { json, indent = 0, colors = PLAIN }: ProblemStyle,
): { stdout: string; stderr: string } {
  const problem = toProblem(error, instance)
  const text = [
    `${colors.red(colors.bold('error'))} ${colors.bold(problem.title)} (${problem.code})`,
    // The title of a usage error is its detail; printing both would repeat it.
    ...(problem.code === 'usage_invalid' ? [] : [`      ${problem.detail}`]),
    `${colors.dim('hint')}  ${problem.hint}`,
    '',
  ].join('\n')
  // A program that ends before it has a log leaves a bug's stack nowhere else.
  const bug = !(error instanceof TurnbellError)
  const stack = bug ? `${error instanceof Error ? String(error.stack) : String(error)}\n` : ''
  return {
    stdout: json ? `${JSON.stringify(problem, null, indent)}\n` : '',
    stderr: json ? stack : text + stack,
  }
}

/** Hand in the instance under which a log has the error already. */
export function printProblem(error: unknown, json: boolean, instance = newInstance()): void {
  const { stdout, stderr } = problemOutput(error, instance, { json })
  process.stdout.write(stdout)
  process.stderr.write(stderr)
}

/** Names one error of a process that is only about to start, or never makes another id. */
export function newInstance(): string {
  return createIds(systemClock, systemRandom).next()
}

/** A full disk in words for the one who must mend it, `store_unavailable`. Anything else passes as it is. */
export function diskRefusal(error: unknown): unknown {
  if (!isSystemError(error) || !isFullDisk(error.code)) return error
  return new TurnbellError('store_unavailable', {
    detail: error.message,
    hint: 'Make room on the disk, then try again. What was accepted is safe.',
    cause: error,
  })
}
