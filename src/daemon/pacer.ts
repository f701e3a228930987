/**
 * Decides when a daemon may ring its agent.
 *
 * Ringing costs the agent a turn, so a late doorbell is better than a frequent one. Every rule here delays a
 * doorbell; none drops one, because only a drained queue clears it.
 */
import type { DoorbellReason } from '../contracts/doorbell.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { coveredSeq, isReachable, isSameSession, type Bell, type History } from './history.ts'
import { hasRingable, isLoud } from './queue/pending-index.ts'

export type Decision =
  | { kind: 'ring'; reason: DoorbellReason }
  /** The surface must first be probed for the last doorbell. */
  | { kind: 'ask' }
  | {
      kind: 'wait'
      /** What would change the decision. With `until`, elapsed time alone changes it. */
      for: 'reconcile' | 'surface' | 'push' | 'boundary' | 'receipt' | 'patience' | 'reminder' | 'nothing'
      until?: number
    }

/**
 * Returns whether a doorbell may be sent now. `now` is monotonic milliseconds, like every time in the
 * history.
 */
export function decide(history: History, now: number): Decision {
  const { manual, pending } = history
  if (!history.reconciled) return { kind: 'wait', for: 'reconcile' }
  if (!isReachable(history)) return { kind: 'wait', for: 'surface' }
  // Quiet signals ring only on request.
  if (manual ? pending.total === 0 : !hasRingable(pending)) return { kind: 'wait', for: 'nothing' }
  return (
    boundary(history, now) ??
    interrupted(history, now) ??
    patience(history, now) ??
    rest(history, now) ??
    oneForThisTurn(history, now) ??
    outstanding(history, now) ?? { kind: 'ring', reason: reasonOf(history) }
  )
}

/** Waits for a turn boundary: the response to a report, or an idle surface with an open connection. */
function boundary({ surface, take, rules }: History, now: number): Decision | null {
  if (take || (surface.turn === 'idle' && surface.delivery === 'push')) return null
  const { unknown_since } = surface
  // A surface without an open connection cannot be reached between reports.
  if (unknown_since === null || surface.delivery === 'pull') return { kind: 'wait', for: 'boundary' }
  // An unknown turn may be running, so it is waited for, but not indefinitely. The surface itself defers a
  // doorbell that it cannot take.
  const until = unknown_since + rules.reconnect_patience_ms
  return now < until ? { kind: 'wait', for: 'boundary', until } : null
}

/**
 * Waits after a person interrupted the agent, until they send something, request a doorbell, or have been
 * quiet for `interrupt_hold_ms`.
 */
function interrupted({ surface, manual }: History, now: number): Decision | null {
  if (surface.interrupted_since === null || manual) return null
  const until = Math.max(surface.interrupted_since, surface.idle_since ?? 0) + LIMITS.interrupt_hold_ms
  return now < until ? { kind: 'wait', for: 'patience', until } : null
}

/**
 * Holds a backlog until there is activity, or until the surface has been idle for the grace or patience time.
 */
function patience({ hold, manual, surface, rules }: History, now: number): Decision | null {
  if (hold === null || manual) return null
  const { reconnect_patience_ms, reconnect_grace_ms } = rules
  // A surface that reports turns and gives receipts is known to be idle.
  const by_evidence = rules.receipts && surface.turn === 'idle' && surface.delivery === 'push'
  const wait = by_evidence ? Math.min(reconnect_grace_ms, reconnect_patience_ms) : reconnect_patience_ms
  const until = Math.max(hold.since, surface.idle_since ?? hold.since) + wait
  return now < until ? { kind: 'wait', for: 'patience', until } : null
}

/** Delays signals that were released repeatedly, unless the agent asks for them at the end of a turn. */
function rest({ setbacks, manual, take }: History, now: number): Decision | null {
  if (manual || take || now >= setbacks.rest_until) return null
  return { kind: 'wait', for: 'patience', until: setbacks.rest_until }
}

/**
 * Waits after a doorbell until a turn that started after it has ended, a drain occurs, or the doorbell is
 * lost.
 */
function oneForThisTurn(history: History, now: number): Decision | null {
  const { bell, fresh, manual, take } = history
  if (bell === null) return null
  if (bell.outcome === 'leaving') return { kind: 'wait', for: 'receipt' }
  // A failed delivery is retried later over the same path; the end of a turn is another path.
  if (bell.outcome === 'failed' && !take) return fresh || manual ? null : untilLost(history, bell, now)
  if (turnEndedSince(history, bell))
    return repeats(history, bell) && !wasLost(history, bell) ? reminder(history, bell, now) : null
  if (bell.outcome === 'held' && manual) return null
  return untilLost(history, bell, now)
}

/**
 * Delays reminders to an agent that ended its turn without a drain: each delay is longer, and their number is
 * limited.
 */
function reminder({ rerings, rules, surface }: History, bell: Bell, now: number): Decision | null {
  if (rerings >= rules.redoorbell_max) return { kind: 'wait', for: 'push' }
  const delays = LIMITS.reminders_ms
  const since = bell.ended_at ?? surface.idle_since ?? now
  const until = since + (delays[Math.min(rerings, delays.length - 1)] ?? 0)
  return now < until ? { kind: 'wait', for: 'reminder', until } : null
}

/**
 * Waits while the surface holds the last doorbell. Elapsed time alone never makes a doorbell lost: while its
 * prompt is stored, queued or shown, no other one is sent, even if turns ended or a drain answered it.
 */
function outstanding(history: History, now: number): Decision | null {
  const { surface, take, held_at, probe_id, rules } = history
  const holds = surface.outstanding_doorbell_id !== null
  if (!holds && (take || !mustProbe(history))) return null
  // A report whose response can carry a doorbell already contains what the surface holds.
  if (take || surface.delivery === 'pull' || probe_id !== null) return { kind: 'wait', for: 'receipt' }
  const until = held_at === null ? now : held_at + rules.bell_receipt_ms
  return now < until ? { kind: 'wait', for: 'receipt', until } : { kind: 'ask' }
}

function mustProbe({ unseen, surface, rules }: History): boolean {
  if (unseen === null || !rules.receipts || surface.delivery === 'pull') return false
  return isSameSession(unseen.session_id, surface.session_id)
}

/**
 * Without receipts, a turn that started long after the doorbell was not started by it; its end allows a new
 * doorbell.
 */
function wasLost({ rules, rerings }: History, { began_at, rung_at }: Bell): boolean {
  if (rules.receipts || began_at === null || rerings >= rules.redoorbell_max) return false
  return began_at - rung_at >= rules.bell_receipt_ms
}

function untilLost(history: History, bell: Bell, now: number): Decision | null {
  const until = lostAt(history, bell)
  return now < until ? { kind: 'wait', for: 'receipt', until } : null
}

/** Valid only at a turn boundary, where `decide` calls it. */
function turnEndedSince({ surface }: History, bell: Bell): boolean {
  return surface.turn_seq > bell.turn_seq
}

/** Whether ringing would only repeat a doorbell that the agent had and took a turn for. */
function repeats({ fresh, manual, pending, surface, rules }: History, bell: Bell): boolean {
  if (bell.outcome !== 'open' || fresh || manual) return false
  // An unsettled index may hide new signals.
  if (!pending.settled) return false
  // Without receipts, each run of a command is a separate session, and all of them count as one failing
  // agent.
  const is_own = bell.session_id === surface.session_id || !rules.receipts
  // A session that is back may have missed a doorbell that was sent to another session.
  return is_own && !pending.entries.some((entry) => isLoud(entry) && entry.seq > coveredSeq(bell))
}

/**
 * Time at which a doorbell without any trace counts as lost: the surface was idle the whole time. The delay
 * doubles with each lost doorbell, so that a surface that loses them is not flooded.
 *
 * A surface without receipts is rung again at its next boundary. If that never comes, `reconnect_patience_ms`
 * applies.
 */
function lostAt({ rules, surface, lost_rings }: History, bell: Bell): number {
  const since = Math.max(bell.rung_at, surface.idle_since ?? bell.rung_at)
  // The end of its turn was not reported, so the wait is limited to the patience for idle agents.
  if (bell.seen) return since + rules.reconnect_patience_ms
  const gives_receipts = rules.receipts && surface.turn !== 'unknown'
  const trusts = !gives_receipts && bell.outcome === 'open'
  const first = trusts ? rules.reconnect_patience_ms : rules.bell_receipt_ms
  const wait = Math.min(first * 2 ** lost_rings, Math.max(rules.reconnect_patience_ms, rules.bell_receipt_ms))
  return since + wait
}

function reasonOf({ manual, after_hold }: History): DoorbellReason {
  if (manual) return 'manual'
  return after_hold ? 'backlog' : 'signal'
}

/** Whether the re-rings are used up while the surface is at a boundary and signals are pending. */
export function isIgnored(history: History, now: number): boolean {
  const { bell } = history
  if (bell === null || !turnEndedSince(history, bell)) return false
  const decision = decide(history, now)
  return decision.kind === 'wait' && decision.for === 'push'
}

/** Whether a doorbell is out whose turn has not started. Another one would be the second for the same turn. */
export function isOutstanding(history: History, now: number): boolean {
  const { bell, surface } = history
  if (surface.outstanding_doorbell_id !== null) return true
  if (bell === null) return false
  if (bell.outcome === 'leaving') return true
  if (bell.outcome !== 'open' || turnEndedSince(history, bell)) return false
  return now < lostAt(history, bell)
}

/** Signal named by the doorbell: the best one not named since the last drain, otherwise the best one. */
export function chooseSignal({ pending, named, manual }: History): PendingEntry | undefined {
  const candidates = manual ? pending.entries : pending.entries.filter(isLoud)
  return candidates.find(({ signal_id }) => !named.includes(signal_id)) ?? candidates[0]
}

/** Returns the history after a doorbell was sent. Only called when `decide` returned `ring`. */
export function rung(history: History, entry: PendingEntry, doorbell_id: string, now: number): History {
  const { bell, pending, surface } = history
  const again = bell !== null && turnEndedSince(history, bell) && repeats(history, bell)
  const lost = bell !== null && (bell.outcome === 'failed' || !turnEndedSince(history, bell))
  const waiting = new Set(pending.entries.map(({ signal_id }) => signal_id))
  return {
    ...history,
    bell: {
      doorbell_id,
      signal_id: entry.signal_id,
      session_id: surface.session_id,
      turn_seq: surface.turn_seq,
      rung_at: now,
      covered: pending,
      seen: false,
      outcome: history.take ? 'open' : 'leaving',
      began_at: null,
      ended_at: null,
    },
    unseen: { doorbell_id, session_id: surface.session_id },
    held_at: null,
    fresh: false,
    rerings: again ? history.rerings + 1 : history.rerings,
    lost_rings: lost ? Math.min(history.lost_rings + 1, LIMITS.lost_rings_counted_max) : history.lost_rings,
    hold: null,
    after_hold: false,
    manual: false,
    take: false,
    last_doorbell_id: doorbell_id,
    last_rung_at: now,
    // A doorbell in the response to a report counts as sent; for any other one the surface reports the
    // outcome.
    last_proof: history.take ? 'sent' : history.last_proof,
    named: [...history.named.filter((id) => waiting.has(id) && id !== entry.signal_id), entry.signal_id],
  }
}
