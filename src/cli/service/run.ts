/** Runs the program of a service manager, and turns its failures into errors of turnbell. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Cli } from '../cli.ts'
import type { ProgramResult } from '../run-program.ts'

/** Throws `client_missing` if the program does not exist, and `service_failed` with its output. */
export async function runOrFail(
  cli: Pick<Cli, 'runProgram'>,
  command: string,
  args: readonly string[],
): Promise<ProgramResult> {
  const result = await cli.runProgram(command, args)
  if (result.code === 0) return result
  const line = [command, ...args].join(' ')
  if (result.code === null) {
    throw new TurnbellError('client_missing', {
      detail: `${line}: ${result.stderr}`,
      hint: `Use another supervisor with the unit of \`turnbell service install --print\`; this machine has no ${command}.`,
    })
  }
  const output = (result.stderr.trim() || result.stdout.trim()).split('\n').slice(0, 3).join('; ')
  throw new TurnbellError('service_failed', {
    detail: `${line} ended with ${result.code}${output === '' ? '' : `: ${output}`}`,
  })
}
