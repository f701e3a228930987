/** Checks whether each attached Claude Code is reached by turnbell's module in it, and why not. Hooks do the same work. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { moduleVersionFault } from '../../contracts/clients/client-versions.ts'
import type { Identity } from '../../contracts/ids.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { workerLog } from '../../system/config/home.ts'
import type { Invocation } from '../cli.ts'
import { connectionsIn } from '../connect/connection-record.ts'
import { moduleSwitchedOff, type SwitchedOff } from '../connect/hook-policy.ts'
import type { ClientVersions } from './clients.ts'
import { fine, warning, type Finding } from './finding.ts'

/** Ignores surfaces that report no way: other clients, agents over the Agent Client Protocol, and older daemons. */
export async function checkClaudeCodeModule(
  invocation: Invocation,
  personas: readonly PersonaStatus[],
  versions: ClientVersions,
): Promise<Finding[]> {
  const found = personas.map(async (persona): Promise<Finding[]> => {
    if (!persona.running) return []
    const { kind, attached, via } = persona.status.surface
    if (kind !== 'claude-code' || !attached || via === null) return []
    const { identity } = persona
    const check = `module ${identity}`
    if (via === 'module') return [fine(check, 'Claude Code is reached by the module in it')]
    if (via === 'hooks: configured' && !invocation.config().claude_code.module)
      return [fine(check, 'Claude Code is reached by hooks; claude_code.module is false')]
    if (via === 'hooks: headless')
      return [fine(check, 'Claude Code has no window, so it is reached by hooks')]
    const { detail, hint } = await explain({ invocation, identity, versions }, via.replace(/^hooks: /, ''))
    return [warning(check, `Claude Code is reached by hooks: ${detail}`, hint)]
  })
  return (await Promise.all(found)).flat()
}

interface Session {
  invocation: Invocation
  identity: Identity
  versions: ClientVersions
}

async function explain(session: Session, reason: string): Promise<SwitchedOff> {
  const { invocation, identity } = session
  const step = restartStep(session)
  const restart = `${step.charAt(0).toUpperCase()}${step.slice(1)}`
  const log = workerLog(invocation.home, identity, 'claude-code')
  switch (reason) {
    case 'never attached':
      return (await obstacleTo(session)) ?? { detail: 'the module has not attached yet', hint: restart }
    case 'silent':
      return {
        detail: 'the module is silent; another plugin may block it',
        hint: `It attaches again by itself. If it does not, type /reload-plugins in the session. If that has no effect, ${step}`,
      }
    case 'ended':
      return { detail: 'the module reported the end of its session', hint: restart }
    case 'another protocol':
      return {
        detail: 'the module and the shim of the client are of different versions of turnbell',
        hint: `Type /reload-plugins in the session, or ${step}`,
      }
    case 'configured':
      return { detail: 'the configuration disabled the module when the session started', hint: restart }
    case 'no socket':
      return { detail: 'the shim of the client could not open a socket for the module', hint: `Read ${log}.` }
    default:
      return { detail: reason, hint: `Read ${log}.` }
  }
}

/** Returns the first obstacle on this machine that keeps every session from loading the module, or null. */
async function obstacleTo(session: Session): Promise<SwitchedOff | null> {
  const { invocation, identity, versions } = session
  const project = invocation.config().personas[identity]?.project ?? connectedProjects(session)[0] ?? null
  const off = moduleSwitchedOff(invocation.cli, project)
  if (off !== null) return off
  try {
    const { version } = await versions('claude-code')
    const fault = version === null ? null : moduleVersionFault(version)
    return fault === null ? null : { detail: `the installed version ${fault.what}`, hint: fault.fix }
  } catch (error) {
    // The check of the clients reports a missing client.
    if (error instanceof TurnbellError && error.code === 'client_missing') return null
    throw error
  }
}

/** Returns an instruction that begins in lower case and ends with a full stop. */
function restartStep(session: Session): string {
  const { invocation, identity } = session
  if (invocation.config().personas[identity]?.headless === true) {
    return `restart the daemon, which runs the session: \`turnbell shutdown --persona ${identity}\`, then \`turnbell daemon --persona ${identity}\`.`
  }
  const run = `end the session and start it again: \`turnbell run --persona ${identity}\``
  const [project] = connectedProjects(session)
  return project === undefined ? `${run}.` : `${run}, or the client in ${project}.`
}

function connectedProjects({ invocation, identity }: Session): string[] {
  return connectionsIn(invocation.home)
    .each()
    .flatMap((record) =>
      !(record instanceof TurnbellError) && record.client === 'claude-code' && record.persona === identity
        ? [record.project]
        : [],
    )
}
