/** Checks the agent clients on this machine and their versions. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { versionWarning } from '../../contracts/clients/client-versions.ts'
import { ClientKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { clientProgram } from '../../system/clients/client-discovery.ts'
import type { Invocation } from '../cli.ts'
import type { ProgramResult } from '../run-program.ts'
import { broken, fine, refusedBy, warning, type Finding } from './finding.ts'

interface VersionAnswer {
  program: string
  result: ProgramResult
  /** Null if the program printed none. */
  version: string | null
}

/** Returns the answer of an installed client. Rejects with `client_missing`. */
export type ClientVersions = (client: ClientKind) => Promise<VersionAnswer>

/** Runs each client at most once. */
export function clientVersions(invocation: Invocation): ClientVersions {
  const known = new Map<ClientKind, Promise<VersionAnswer>>()
  const read = async (client: ClientKind): Promise<VersionAnswer> => {
    const { cli, home } = invocation
    const program = clientProgram(client, { home, config: invocation.config(), env: cli.env })
    const result = await cli.runProgram(program, ['--version'], { within_ms: LIMITS.client_version_ms })
    const found = /\d+\.\d+\.\d+[^\s)]*/.exec(result.stdout)?.[0] ?? null
    return { program, result, version: result.code === 0 ? found : null }
  }
  return (client) => {
    const answer = known.get(client) ?? read(client)
    known.set(client, answer)
    return answer
  }
}

export async function checkClients(invocation: Invocation, versions: ClientVersions): Promise<Finding[]> {
  return Promise.all(ClientKind.options.map((client) => checkClient(invocation, versions, client)))
}

async function checkClient(
  invocation: Invocation,
  versions: ClientVersions,
  client: ClientKind,
): Promise<Finding> {
  const check = `client ${client}`
  const config = invocation.config()
  // An agent over the Agent Client Protocol is a program of its own and does not use the client.
  const users = Object.entries(config.personas).flatMap(([name, { surface, acp }]) =>
    surface === client && acp === undefined ? [name] : [],
  )
  let answer: VersionAnswer
  try {
    answer = await versions(client)
  } catch (error) {
    if (!(error instanceof TurnbellError && error.code === 'client_missing')) throw error
    // A missing client is a problem only for personas that use it.
    return users.length > 0
      ? refusedBy(check, error, invocation.cli.ids)
      : fine(check, 'not installed, and no persona uses it')
  }
  const { program, result, version } = answer
  const { code, stdout, stderr } = result
  const unusable = users.length > 0 ? broken : warning
  const by = users.length === 0 ? '' : `, for ${users.join(', ')}`
  if (version !== null) {
    const detail = `${version} at ${program}${by}`
    const caution = versionWarning(client, version)
    if (caution === null) return fine(check, detail)
    const finding = caution.rings ? warning : unusable
    return finding(check, `${detail}; ${caution.what}`, caution.fix)
  }
  if (result.late === true) {
    const seconds = LIMITS.client_version_ms / 1000
    const detail = `${program} --version did not end within ${seconds} s`
    return unusable(check, detail, `Run \`${program} --version\` by hand and see what it waits for.`)
  }
  const detail = `${program} --version failed: ${firstLine(stderr) ?? firstLine(stdout) ?? `exit code ${code}`}`
  const hint = 'Install the client again, and allow npm to run its install script.'
  return unusable(check, detail, hint)
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '')
}
