/** The daemon's status document, as `control.sock` returns it. */
import type { DaemonStatus } from '../contracts/control.ts'
import { deliveryReasonOf } from './history.ts'
import { stateOf, type DaemonSnapshot } from './machine.ts'
import type { DaemonMetrics } from './metrics.ts'

export interface StatusSources {
  tenant_id: string
  identity: string
  pid: number
  /** Monotonic milliseconds, as is `now`. */
  started_at: number
  now: number
  snapshot: DaemonSnapshot
  in_progress_count: number
  last_heartbeat_at: number | null
  metrics: Pick<DaemonMetrics, 'lastErrorClass' | 'lastErrorAt'>
  /** Restarts of the supervised shim. */
  restarts: number
}

export function daemonStatus(sources: StatusSources): DaemonStatus {
  const { now, snapshot, metrics, started_at } = sources
  const { context } = snapshot
  const { delivery, last_received, history } = context
  const { surface, last_proof, bell, rerings } = history
  const { attached, kind, session_id, turn, via, presence, interrupted_since } = surface
  const ageOf = (at: number | null) => (at === null ? null : Math.max(0, (now - at) / 1000))
  const reason = deliveryReasonOf(history, now)
  const state = stateOf(snapshot)
  return {
    tenant_id: sources.tenant_id,
    identity: sources.identity,
    pid: sources.pid,
    uptime_s: (now - started_at) / 1000,
    state,
    connected: state === 'CONNECTED' || state === 'EMITTING',
    delivery: reason === null ? 'ok' : 'degraded',
    delivery_reason: reason,
    // Time alone can cause a reason without an event; the age of such a reason is 0.
    delivery_reason_age_s: reason === delivery.reason ? (ageOf(delivery.since) ?? 0) : 0,
    in_progress_count: sources.in_progress_count,
    last_heartbeat_age_s: ageOf(sources.last_heartbeat_at),
    last_drain_age_s: ageOf(context.last_drain_at),
    pending_count: history.pending.total,
    last_error_class: metrics.lastErrorClass(),
    last_error_age_s: ageOf(metrics.lastErrorAt()),
    surface: {
      ...{ kind, attached, session_id: attached ? session_id : null, turn, last_proof, via, presence },
      interrupted_age_s: attached ? ageOf(interrupted_since) : null,
    },
    doorbells_rung: context.doorbells_rung,
    doorbells_undrained: bell === null ? 0 : rerings + 1,
    last_rung_age_s: ageOf(history.last_rung_at),
    last_seen_age_s: ageOf(history.last_seen_at),
    last_received: last_received && {
      from: last_received.from,
      intent: last_received.intent,
      age_s: ageOf(last_received.at) ?? 0,
    },
    restarts: sources.restarts,
  }
}
