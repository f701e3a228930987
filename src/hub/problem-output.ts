/** A refusal to start, as the command line shows it: title, detail and hint, or the problem object. */
import { toProblem, TurnbellError } from '../contracts/errors.ts'

export function printProblem(error: unknown, json: boolean): void {
  const problem = toProblem(error, 'start')
  if (json) {
    process.stdout.write(`${JSON.stringify(problem)}\n`)
    return
  }
  process.stderr.write(
    `error ${problem.title} (${problem.code})\n      ${problem.detail}\nhint  ${problem.hint}\n`,
  )
  // There is no log entry to find a bug's stack in.
  if (!(error instanceof TurnbellError)) {
    process.stderr.write(`${error instanceof Error ? String(error.stack) : String(error)}\n`)
  }
}
