/** Checks each persona's daemon: it runs, reaches the hub, and reaches its agent. */
import fs from 'node:fs'
import type { DaemonStatus } from '../../contracts/control.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity, SurfaceKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { PersonaOverview } from '../../contracts/registry.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { lockHolder } from '../../system/files/owner-lock.ts'
import { findHub } from '../../system/config/hub-discovery.ts'
import { workerLog } from '../../system/config/home.ts'
import { isStopped } from '../../system/process/process-info.ts'
import type { Invocation } from '../cli.ts'
import { overviewAtHub } from '../personas/persona-api.ts'
import { agentFailure } from './agent-failure.ts'
import { broken, fine, warning, type Finding } from './finding.ts'
import { refusedStart } from './last-start.ts'

export async function checkDaemons(
  invocation: Invocation,
  personas: readonly PersonaStatus[],
): Promise<Finding[]> {
  if (personas.length === 0) {
    return [warning('personas', 'none yet', 'Add one: `turnbell persona add NAME --surface claude-code`.')]
  }
  const at_hub = await overviews(invocation)
  return personas.map((persona) =>
    persona.running ? checkRunning(invocation, persona.status) : checkStopped(invocation, persona, at_hub),
  )
}

/** Returns an empty map if no hub answers, which the check of the hub reports. */
async function overviews(invocation: Invocation): Promise<ReadonlyMap<string, PersonaOverview>> {
  try {
    const personas = await overviewAtHub(invocation, LIMITS.doctor_answer_ms)
    return new Map(personas.map((persona) => [persona.identity, persona]))
  } catch (error) {
    if (error instanceof TurnbellError) return new Map()
    throw error
  }
}

function checkStopped(
  invocation: Invocation,
  { identity, problem }: Extract<PersonaStatus, { running: false }>,
  at_hub: ReadonlyMap<string, PersonaOverview>,
): Finding {
  const check = `daemon ${identity}`
  const known = at_hub.get(identity)
  if (known?.state === 'wrapped') {
    return fine(check, `wrapped; \`turnbell persona add ${identity} …\` reactivates it`)
  }
  const pid = lockHolder(invocation.paths(identity).daemon_lock)
  if (pid !== null && isStopped(pid)) {
    return broken(
      check,
      `process ${pid} is stopped (SIGSTOP) and does not answer`,
      `Resume it: \`kill -CONT ${pid}\`.`,
    )
  }
  if (known?.registrations.some(({ kind, connected }) => kind === 'daemon' && connected)) {
    const { control_socket } = invocation.paths(identity)
    return broken(
      check,
      `connected to the hub, but does not answer at ${control_socket}: its sockets were removed`,
      `Wait ten seconds for it to recreate them; otherwise stop it${pid === null ? '' : ` (\`kill ${pid}\`)`} and start it: \`turnbell daemon --persona ${identity}\`.`,
    )
  }
  const start = `Start it: \`turnbell up\` or \`turnbell daemon --persona ${identity}\`.`
  if (problem.code !== 'daemon_unreachable') return broken(check, problem.detail, problem.hint)
  const { daemon_pid, log } = invocation.paths(identity)
  const refused = refusedStart(log)
  if (refused !== null) return broken(check, refused.detail, refused.hint)
  const was_killed = fs.existsSync(daemon_pid)
  return warning(check, was_killed ? 'not running: it was killed; nothing is lost' : 'not running', start)
}

function checkRunning(invocation: Invocation, status: DaemonStatus): Finding {
  const { identity, surface, pending_count, last_error_class } = status
  const check = `daemon ${identity}`
  const log = invocation.paths(identity).log
  if (!status.connected) {
    if (findHub(invocation.home, invocation.config()) === null)
      return warning(
        check,
        'running, and waiting for the hub',
        'Start the hub; the daemon connects by itself.',
      )
    return broken(
      check,
      `running, but not connected to the hub (${last_error_class ?? status.state})`,
      `Read ${log}.`,
    )
  }
  if (!surface.attached) {
    const failure = agentFailure(log)
    const reason = failure === null ? '' : `; its session could not be opened: ${failure}`
    return warning(
      check,
      `no agent is attached (${surface.kind}); ${pending_count} waiting${reason}`,
      agentHint(invocation, surface.kind, identity),
    )
  }
  if (status.delivery === 'degraded') {
    return warning(
      check,
      `doorbells are not answered${reasonOf(status)}; ${pending_count} waiting`,
      `Read ${log}; \`turnbell notify --persona ${identity}\` rings again.`,
    )
  }
  return fine(check, `${status.state}, ${surface.kind} is ${surface.turn}, ${pending_count} waiting`)
}

/** Returns the current reason. The last error may be resolved already. */
function reasonOf({ delivery_reason }: DaemonStatus): string {
  return delivery_reason === null ? '' : ` (${delivery_reason.replaceAll('_', ' ')})`
}

function agentHint(invocation: Invocation, kind: SurfaceKind, identity: Identity): string {
  const log = invocation.paths(identity).log
  const settings = invocation.config().personas[identity]
  // The daemon starts a headless agent itself, so the logs contain the reason why it is missing.
  if (settings?.surface === kind && (settings.acp !== undefined || settings.headless === true)) {
    const read_log = `Read ${log}; the daemon runs this agent, and the log includes that of the agent's shim`
    if (kind !== 'claude-code' || settings.acp !== undefined) return `${read_log}.`
    return `${read_log}. Read ${workerLog(invocation.home, identity, kind)} for its session.`
  }
  switch (kind) {
    case 'claude-code':
    case 'codex':
    case 'opencode':
      return `Start the client: \`turnbell run --persona ${identity}\`.`
    case 'tmux':
      return `Check that the pane and its client exist; read ${log}.`
    default:
      return `Start the program that attaches to the socket of \`turnbell paths --persona ${identity}\`; read ${log}.`
  }
}
