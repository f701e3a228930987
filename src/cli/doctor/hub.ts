/** Checks the hub of this home: it runs, is ready, and has the installed version. */
import fs from 'node:fs'
import { lockHolder } from '../../system/files/owner-lock.ts'
import { findHub, runningHub } from '../../system/config/hub-discovery.ts'
import { isStopped } from '../../system/process/process-info.ts'
import { VERSION } from '../../system/version.ts'
import type { Invocation } from '../cli.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Health } from '../../contracts/http.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { createHubClient } from '../hub/client.ts'
import { broken, fine, refusedBy, warning, type Finding } from './finding.ts'
import { refusedStart } from './last-start.ts'

const START = 'Start it: `turnbell up`, `turnbell hub`, or permanently `turnbell service install --hub`.'

export async function checkHub(invocation: Invocation, daemons: readonly PersonaStatus[]): Promise<Finding> {
  const { home, cli } = invocation
  const url = findHub(home, invocation.config())
  if (url === null) return notRunning(invocation, daemons)
  try {
    const hub = createHubClient(cli.fetch, url, null)
    const { version, status } = await hub.health(LIMITS.doctor_answer_ms)
    const refusal = await hub.whyNotReady(LIMITS.doctor_answer_ms)
    if (refusal !== null) return notReady(invocation, url, status, refusal)
    // With the operator's token, because the hub of another home refuses it.
    await invocation.hub().call('personas', 'list', {}, undefined, LIMITS.doctor_answer_ms)
    if (version === VERSION) return fine('hub', `${url} is ready, version ${version}`)
    return warning(
      'hub',
      `${url} has version ${version}, but ${VERSION} is installed`,
      'Restart it: `turnbell down`, then `turnbell up`. A service restarts by itself.',
    )
  } catch (error) {
    return failed(invocation, url, error)
  }
}

function notReady(
  { home }: Invocation,
  url: string,
  status: Health['status'],
  { code, detail, hint }: TurnbellError,
): Finding {
  const is_transient = status === 'starting' || status === 'stopping' || code === 'hub_stopping'
  if (is_transient) return warning('hub', `${url} is not ready: ${detail}`, 'Wait a moment.')
  if (code !== 'hub_not_ready') return broken('hub', `${url} is not ready: ${detail}`, hint)
  return broken('hub', `${url} refuses every change: ${detail}`, `${hint} See also ${home.hub_log}.`)
}

/** The finding for a hub that does not answer in time. */
function silent({ home }: Invocation, url: string, detail: string): Finding {
  const running = runningHub(home)
  if (running === null) return broken('hub', detail, `Check hub.url: no hub of this home listens at ${url}.`)
  const { pid } = running
  if (isStopped(pid)) {
    return broken(
      'hub',
      `${url}: process ${pid} is stopped (SIGSTOP) and does not answer`,
      `Resume it: \`kill -CONT ${pid}\`.`,
    )
  }
  return broken(
    'hub',
    `${url}: process ${pid} did not answer within ${LIMITS.doctor_answer_ms / 1000} s`,
    `Try again. If it still hangs, run \`kill -9 ${pid}\` and start it again; accepted signals are safe.`,
  )
}

function failed(invocation: Invocation, url: string, error: unknown): Finding {
  if (!(error instanceof TurnbellError)) throw error
  const { home, cli } = invocation
  switch (error.code) {
    case 'timed_out':
      return silent(invocation, url, error.detail)
    case 'home_not_permitted':
      return warning('hub', `${url} is ready, but was not checked further: ${error.detail}`, error.hint)
    case 'token_invalid':
    case 'token_missing':
      return broken(
        'hub',
        `${url} does not accept the operator token of ${home.root}`,
        `Restart it with \`turnbell down\`, then \`turnbell up\`: it belongs to another home, or ${home.operator_token} changed while it ran.`,
      )
    default:
      return refusedBy('hub', error, cli.ids)
  }
}

function notRunning({ home }: Invocation, daemons: readonly PersonaStatus[]): Finding {
  const holder = lockHolder(home.hub_lock)
  if (holder !== null) {
    return broken(
      'hub',
      `process ${holder} holds ${home.hub_lock} but has published no address`,
      `Try again in a moment: it is starting, or hangs. Read ${home.hub_log}.`,
    )
  }
  const linked = daemons.flatMap((daemon) =>
    daemon.running && daemon.status.connected ? [daemon.identity] : [],
  )
  // A daemon may be connected to the hub of another home. An operator token proves that this home had a hub of its own.
  if (linked.length > 0 && !fs.existsSync(home.hub_journal) && fs.existsSync(home.operator_token)) {
    return broken(
      'hub',
      `${linked.join(', ')} is connected to a hub whose files in ${home.hub_dir} were removed; it refuses every change`,
      'Restore the files, and it recovers by itself. Or start with an empty store: `turnbell hub` or `turnbell up` replaces it.',
    )
  }
  const refused = refusedStart(home.hub_log)
  if (refused !== null) return broken('hub', `not running; ${refused.detail}`, refused.hint)
  const killed = fs.existsSync(home.hub_pid) ? ' (the last one was killed; nothing is lost)' : ''
  const waiting = daemons
    .filter((daemon) => daemon.running && !daemon.status.connected)
    .map(({ identity }) => identity)
  if (waiting.length === 0) return warning('hub', `not running${killed}`, START)
  return broken(
    'hub',
    `not running${killed}, and ${waiting.join(', ')} ${waiting.length === 1 ? 'waits' : 'wait'} for it`,
    START,
  )
}
