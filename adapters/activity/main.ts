/** Opens the log of an adapter's activity: the part of the composition that all adapters share. */
import path from 'node:path'
import { createActivityLog, type ActivityLog } from './activity-log.ts'
import type { ActivityReceipt, ActivityReport } from '../../src/contracts/activity/event.ts'
import type { Config } from '../../src/contracts/config.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Ids } from '../../src/ports/random.ts'
import { redactEvent } from '../../src/ports/redaction/redact-event.ts'
import { createUpstream } from '../../src/bridge/hub/upstream.ts'
import { requireHub } from '../../src/system/config/hub-discovery.ts'
import { readOperatorToken } from '../../src/system/config/secrets.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { VERSION } from '../../src/system/version.ts'
import { systemClock } from '../../src/system/clock.ts'
import type { Home } from '../../src/system/config/home.ts'
import { sessionNumberFiles } from '../../src/system/files/session-numbers.ts'
import { appendSpoolLine } from '../../src/system/files/spool-writer.ts'
import { createRedactor } from '../../src/system/redaction/redactor.ts'

export interface ActivityLogPlace {
  home: Home
  config: Pick<Config, 'activity'>
  identity: Identity
  /** The persona's directory for state. */
  run_dir: string
  client: string
  /** Sends a report once. Rejects if the hub did not take it. */
  send: (report: ActivityReport) => Promise<ActivityReceipt>
  ids: Ids
  log: Log
}

/**
 * The same for a shim without a bridge: it connects to the hub by itself, with the token of the persona's agent. Returns null if
 * nothing may be recorded.
 */
export function openConnectedActivityLog(
  place: Omit<ActivityLogPlace, 'send' | 'ids'> & { config: Config },
): ActivityLog | null {
  const { home, config, identity } = place
  const upstream = createUpstream({
    identity,
    // Each report names its session.
    session_id: () => identity,
    locate: () => requireHub(home, config),
    operatorToken: () => readOperatorToken(home),
    query: '',
    version: VERSION,
    clock: systemClock,
  })
  return openActivityLog({
    ...place,
    ids: createIds(systemClock, systemRandom),
    send: (report) => upstream.reportActivity(report, LIMITS.activity_answer_ms),
  })
}

/** Returns null if nothing may be recorded. */
export function openActivityLog(place: ActivityLogPlace): ActivityLog | null {
  const { home, config, identity, run_dir, client, send, ids, log } = place
  if (config.activity.capture === 'off') return null
  const numbers = sessionNumberFiles(path.join(run_dir, 'activity'))
  numbers.removeOld(systemClock.now())
  const redactor = createRedactor()
  const writer = { ids, clock: systemClock, home }
  return createActivityLog({
    client,
    with_texts: config.activity.capture === 'full',
    send,
    redact: (event) => redactEvent(event, redactor),
    spool: (report) =>
      appendSpoolLine(writer, { type: 'activity', identity, report }, LIMITS.spool_activity_bytes_max),
    ...{ ids, clock: systemClock, numbers, log },
  })
}
