/** The agent clients on this machine: which are there, and in which version. */
import { TurnbellError } from '../../contracts/errors.ts'
import { cautionAbout } from '../../contracts/client-versions.ts'
import { ClientKind } from '../../contracts/ids.ts'
import { clientProgram } from '../../system/clients.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, refusedBy, warning, type Finding } from './finding.ts'

export async function checkClients(invocation: Invocation): Promise<Finding[]> {
  return Promise.all(ClientKind.options.map((client) => checkClient(invocation, client)))
}

async function checkClient(invocation: Invocation, client: ClientKind): Promise<Finding> {
  const { cli, home } = invocation
  const check = `client ${client}`
  const config = invocation.config()
  const users = Object.entries(config.personas).flatMap(([name, { surface }]) =>
    surface === client ? [name] : [],
  )
  let program: string
  try {
    program = clientProgram(client, { home, config, env: cli.env })
  } catch (error) {
    if (!(error instanceof TurnbellError && error.code === 'client_missing')) throw error
    // Nobody has to have all of them.
    return users.length > 0
      ? refusedBy(check, error, cli.ids)
      : fine(check, 'not installed, and no persona uses it')
  }
  const { code, stdout, stderr } = await cli.runProgram(program, ['--version'])
  const version = /\d+\.\d+\.\d+[^\s)]*/.exec(stdout)?.[0]
  const by = users.length === 0 ? '' : `, for ${users.join(', ')}`
  if (code === 0 && version !== undefined) {
    const detail = `${version} at ${program}${by}`
    const caution = cautionAbout(client, version)
    if (caution === null) return fine(check, detail)
    return warning(
      check,
      `${detail}; ${caution}`,
      'Bring the client up to date; turnbell does what it can meanwhile.',
    )
  }
  const detail = `${program} --version failed: ${firstLine(stderr) ?? firstLine(stdout) ?? `exit code ${code}`}`
  const mend = 'Install the client again; npm must be allowed to run its install script.'
  return users.length > 0 ? broken(check, detail, mend) : warning(check, detail, mend)
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '')
}
