/** The agent clients on this machine: which are there, and in which version. */
import { TurnbellError } from '../../contracts/errors.ts'
import { cautionAbout } from '../../contracts/client-versions.ts'
import { ClientKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
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
  // An agent that speaks the Agent Client Protocol is a program of its own.
  const users = Object.entries(config.personas).flatMap(([name, { surface, acp }]) =>
    surface === client && acp === undefined ? [name] : [],
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
  const asked = await cli.runProgram(program, ['--version'], { within_ms: LIMITS.client_version_ms })
  const { code, stdout, stderr } = asked
  const unfit = users.length > 0 ? broken : warning
  const version = /\d+\.\d+\.\d+[^\s)]*/.exec(stdout)?.[0]
  const by = users.length === 0 ? '' : `, for ${users.join(', ')}`
  if (code === 0 && version !== undefined) {
    const detail = `${version} at ${program}${by}`
    const caution = cautionAbout(client, version)
    if (caution === null) return fine(check, detail)
    const say = caution.rings ? warning : unfit
    return say(check, `${detail}; ${caution.what}`, caution.mend)
  }
  if (asked.late === true) {
    const seconds = LIMITS.client_version_ms / 1000
    const detail = `${program} --version has not ended within ${seconds} s`
    return unfit(check, detail, `Run \`${program} --version\` by hand and see what it waits for.`)
  }
  const detail = `${program} --version failed: ${firstLine(stderr) ?? firstLine(stdout) ?? `exit code ${code}`}`
  const mend = 'Install the client again; npm must be allowed to run its install script.'
  return unfit(check, detail, mend)
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '')
}
