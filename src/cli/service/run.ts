/** The service manager's own program, and its refusals as ours. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Cli } from '../cli.ts'
import type { ProgramResult } from '../run-program.ts'

/** @throws `client_missing` where the program is not there, `service_failed` with what it said. */
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
      hint: `This machine has no ${command}. \`turnbell service install --print\` shows the unit, to be used with another supervisor.`,
    })
  }
  const said = (result.stderr.trim() || result.stdout.trim()).split('\n').slice(0, 3).join('; ')
  throw new TurnbellError('service_failed', {
    detail: `${line} ended with ${result.code}${said === '' ? '' : `: ${said}`}`,
  })
}
