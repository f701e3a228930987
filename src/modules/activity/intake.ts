/**
 * Takes reports of clients and decides at once what becomes of each: passed on, or dropped and counted. A client never
 * waits for a full disk or a slow database.
 */
import type { ActivityReceipt, ActivityReport } from '../../contracts/activity/event.ts'
import type { SessionState } from '../../contracts/activity/session-state.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Activity, HookReport } from './types.ts'

export interface Intake {
  /**
   * Resolves when the events are stored or dropped. Rejects with `kind_forbidden` unless an agent or the operator calls, and
   * with `identity_mismatch` for a session of another persona.
   */
  report(caller: Caller, report: ActivityReport): Promise<ActivityReceipt>
  /** Stores the events of a hook payload. Never rejects: what cannot be stored is dropped. */
  reportHook(hook: HookReport): Promise<void>
  /** The same for a report from the spool; rejects with `store_unavailable` instead of dropping it. */
  reportSpooled(identity: Identity, report: ActivityReport): Promise<void>
}

export interface IntakeDeps {
  activity: Pick<Activity, 'ingest' | 'ingestHook'>
  clock: Pick<Clock, 'monotonic'>
  log: Log
  /** The state of a session has changed. */
  onState: (
    session: { session_id: SessionId; identity: Identity; client: string },
    state: SessionState,
  ) => void
}

export function createIntake({ activity, clock, log, onState }: IntakeDeps): Intake {
  const rates = createRates(clock)
  /** Events that are passed on and not stored yet. */
  let waiting = 0
  /** Dropped events of each session that no report has stored yet. */
  const dropped = new Map<SessionId, number>()
  let is_failing = false

  async function pass(
    identity: Identity,
    report: ActivityReport,
    spooled: boolean,
  ): Promise<ActivityReceipt> {
    const { session_id, client } = report
    const events = report.events.map((event) => ({ ...event, client, identity, session_id }))
    const earlier = dropped.get(session_id) ?? 0
    waiting += events.length
    try {
      const numbers = { numbered_by_hub: false, spooled, dropped: earlier }
      const batch = { session_id, identity, client, events, ...numbers }
      const { changed, ...receipt } = await activity.ingest(batch)
      count(session_id, -earlier)
      if (changed !== null) onState({ session_id, identity, client }, changed)
      is_failing = false
      return receipt
    } finally {
      waiting -= events.length
    }
  }

  function count(session_id: SessionId, events: number): void {
    const sum = (dropped.get(session_id) ?? 0) + events
    if (sum <= 0) dropped.delete(session_id)
    // Bounded by the sessions that report while nothing can be stored.
    else if (dropped.has(session_id) || dropped.size < LIMITS.activity_dropped_sessions_max)
      dropped.set(session_id, sum)
  }

  function drop({ session_id, events }: ActivityReport): ActivityReceipt {
    count(session_id, events.length)
    const highest = events.reduce((most, { seq }) => Math.max(most, seq), 0)
    return { accepted: 0, duplicates: 0, next_seq: highest + 1, dropped: events.length }
  }

  return {
    async report(caller, report) {
      const identity = reporterOf(caller, report)
      const events = report.events.length
      if (waiting + events > LIMITS.activity_waiting_events_max || !rates.allow(caller.identity, events))
        return drop(report)
      try {
        return await pass(identity, report, false)
      } catch (error) {
        if (!(error instanceof TurnbellError) || error.code !== 'store_unavailable') throw error
        if (!is_failing) log.warn({ err: error }, 'activity not stored')
        is_failing = true
        return drop(report)
      }
    },
    async reportHook(hook) {
      const { identity, client, body } = hook
      if (waiting >= LIMITS.activity_waiting_events_max || !rates.allow(identity, 1)) return
      waiting++
      try {
        const changed = (await activity.ingestHook(hook))?.changed ?? null
        if (changed !== null) onState({ session_id: String(body['session_id']), identity, client }, changed)
      } catch (err) {
        if (!is_failing) log.warn({ err }, 'activity not stored')
        is_failing = true
      } finally {
        waiting--
      }
    },
    async reportSpooled(identity, report) {
      await pass(identity, report, true)
    },
  }
}

/** Returns the persona of the session. */
function reporterOf({ kind, identity }: Caller, report: ActivityReport): Identity {
  if (kind === 'operator') return report.identity ?? identity
  if (kind !== 'agent') {
    throw new TurnbellError('kind_forbidden', {
      detail: `Only the client of an agent reports activity; the caller is the ${kind} ${identity}.`,
      hint: "Call with the token of the persona's agent.",
    })
  }
  if (report.identity === undefined || report.identity === identity) return identity
  throw new TurnbellError('identity_mismatch', {
    detail: `The token belongs to ${identity}, and the report to ${report.identity}.`,
  })
}

/** A bucket of events for each caller, refilled with `activity_rate_max` a second. */
function createRates(clock: Pick<Clock, 'monotonic'>) {
  const size = (LIMITS.activity_rate_max * LIMITS.activity_rate_ms) / 1_000
  const buckets = new Map<Identity, { left: number; at: number }>()

  return {
    allow(identity: Identity, events: number): boolean {
      const now = clock.monotonic()
      const bucket = buckets.get(identity) ?? { left: size, at: now }
      const left = Math.min(size, bucket.left + ((now - bucket.at) * LIMITS.activity_rate_max) / 1_000)
      if (left < events) {
        buckets.set(identity, { left, at: now })
        return false
      }
      // A full bucket needs no entry.
      if (left - events >= size) buckets.delete(identity)
      else buckets.set(identity, { left: left - events, at: now })
      return true
    },
  }
}
