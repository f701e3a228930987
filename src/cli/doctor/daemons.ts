/** Every persona's daemon: whether it runs, reaches the hub, and reaches its agent. */
import fs from 'node:fs'
import type { DaemonStatus } from '../../contracts/control.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SurfaceKind } from '../../contracts/ids.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { findHub } from '../../system/hub-address.ts'
import { workerLog } from '../../system/home.ts'
import type { Invocation } from '../cli.ts'
import { personasAtHub } from '../personas/listing.ts'
import { broken, fine, warning, type Finding } from './finding.ts'
import { refusedStart } from './last-start.ts'

export async function checkDaemons(
  invocation: Invocation,
  found: readonly PersonaStatus[],
): Promise<Finding[]> {
  if (found.length === 0) {
    return [warning('personas', 'none yet', 'Make one: `turnbell persona add NAME --surface claude-code`.')]
  }
  const wrapped = await wrappedAtHub(invocation)
  return found.map((one) =>
    one.running ? ofRunning(invocation, one.status) : ofStopped(invocation, one, wrapped),
  )
}

/** Nobody where no hub answers: that is told elsewhere. */
async function wrappedAtHub(invocation: Invocation): Promise<ReadonlySet<string>> {
  try {
    const resting = (await personasAtHub(invocation)).filter(({ state }) => state === 'wrapped')
    return new Set(resting.map(({ identity }) => identity))
  } catch (error) {
    if (error instanceof TurnbellError) return new Set()
    throw error
  }
}

function ofStopped(
  invocation: Invocation,
  { identity, problem }: Extract<PersonaStatus, { running: false }>,
  wrapped: ReadonlySet<string>,
): Finding {
  const check = `daemon ${identity}`
  if (wrapped.has(identity)) {
    return fine(check, `rests; \`turnbell persona add ${identity} …\` brings it back`)
  }
  const start = `Start it: \`turnbell up\` or \`turnbell daemon --persona ${identity}\`.`
  if (problem.code !== 'daemon_unreachable') return broken(check, problem.detail, problem.hint)
  const { daemon_pid, log } = invocation.paths(identity)
  const refused = refusedStart(log)
  if (refused !== null) return broken(check, refused.detail, refused.hint)
  const killed = fs.existsSync(daemon_pid)
  return warning(check, killed ? 'was killed; nothing is lost' : 'does not run', start)
}

function ofRunning(invocation: Invocation, status: DaemonStatus): Finding {
  const { identity, surface, pending_count, last_error_class } = status
  const check = `daemon ${identity}`
  const log = invocation.paths(identity).log
  if (!status.connected) {
    if (findHub(invocation.home, invocation.config()) === null)
      return warning(check, 'runs, and waits for the hub', 'It connects by itself once the hub runs.')
    return broken(
      check,
      `runs, but does not reach the hub (${last_error_class ?? status.state})`,
      `See ${log}.`,
    )
  }
  if (!surface.attached) {
    return warning(
      check,
      `no agent is there (${surface.kind}); ${pending_count} waiting`,
      waysIn(invocation, surface.kind, identity),
    )
  }
  if (status.delivery === 'degraded') {
    return warning(
      check,
      `doorbells do not get through${reasonOf(status)}; ${pending_count} waiting`,
      `See ${log}; \`turnbell notify --persona ${identity}\` rings once more.`,
    )
  }
  return fine(check, `${status.state}, ${surface.kind} is ${surface.turn}, ${pending_count} waiting`)
}

/** Only what still holds: the last error may have healed long ago. */
function reasonOf({ delivery_reason }: DaemonStatus): string {
  return delivery_reason === null ? '' : ` (${delivery_reason.replaceAll('_', ' ')})`
}

function waysIn(invocation: Invocation, kind: SurfaceKind, identity: Identity): string {
  const log = invocation.paths(identity).log
  const settings = invocation.config().personas[identity]
  // Nobody has to start what the daemon keeps; why it is not there stands in what it wrote.
  if (settings?.surface === kind && (settings.acp !== undefined || settings.headless === true)) {
    const kept = `The daemon keeps its agent; see ${log}, also for what the agent's shim says`
    if (kind !== 'claude-code' || settings.acp !== undefined) return `${kept}.`
    return `${kept}, and ${workerLog(invocation.home, identity, kind)} for its session.`
  }
  switch (kind) {
    case 'claude-code':
    case 'codex':
    case 'opencode':
      return `Start the client: \`turnbell run --persona ${identity}\`.`
    case 'tmux':
      return `Is the pane there, and its client? See ${log}.`
    default:
      return `Whatever attaches to \`turnbell paths --persona ${identity}\` has to be started; see ${log}.`
  }
}
