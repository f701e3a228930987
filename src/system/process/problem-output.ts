/** Prints an error the same way in every program: title, detail and hint, or the problem object. */
import { systemClock } from '../clock.ts'
import { createIds, systemRandom } from '../random.ts'
import { diskHint, isFullDisk, isSystemError } from '../files/system-error.ts'
import { toProblem, TurnbellError } from '../../contracts/errors/errors.ts'

type Paint = (text: string) => string

export interface ProblemStyle {
  json: boolean
  indent?: number
  colors?: { red: Paint; bold: Paint; dim: Paint }
}

const same: Paint = (text) => text
const PLAIN = { red: same, bold: same, dim: same }

/** Returns the text for each stream. */
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
  // A bug before the log exists leaves its stack only here.
  const bug = !(error instanceof TurnbellError)
  const stack = bug ? `${error instanceof Error ? String(error.stack) : String(error)}\n` : ''
  return {
    stdout: json ? `${JSON.stringify(problem, null, indent)}\n` : '',
    stderr: json ? stack : text + stack,
  }
}

/** Pass the instance of an error that is already in a log. */
export function printProblem(error: unknown, json: boolean, instance = newInstance()): void {
  const { stdout, stderr } = problemOutput(error, instance, { json })
  process.stdout.write(stdout)
  process.stderr.write(stderr)
}

/** Id of an error, for a process that does not create other ids. */
export function newInstance(): string {
  return createIds(systemClock, systemRandom).next()
}

/** Converts an error of a full or read-only disk to `store_unavailable` with a hint. Returns other errors unchanged. */
export function diskError(error: unknown): unknown {
  if (!isSystemError(error) || (!isFullDisk(error.code) && error.code !== 'EROFS')) return error
  return new TurnbellError('store_unavailable', {
    detail: error.message,
    hint: `${diskHint(error.code)}, then try again. Accepted signals are safe.`,
    cause: error,
  })
}
