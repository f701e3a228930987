/**
 * Decides when a daemon may ring its agent.
 *
 * Ringing costs the agent a turn, so late is better than often. Every rule here delays a ring; none
 * drops one, because a drained queue is the only thing that clears a doorbell.
 */
import type { DoorbellReason } from '../contracts/doorbell.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits.ts'
import { coveredSeq, isReachable, isSameSession, type Bell, type History } from './history.ts'
import { hasRingable, isLoud } from './pending-index.ts'

export type Decision =
  | { kind: 'ring'; reason: DoorbellReason }
  /** The surface must first be asked whether it still holds the last bell. */
  | { kind: 'ask' }
  | {
      kind: 'wait'
      /** What would change the answer. With `until`, time alone does. */
      for: 'reconcile' | 'surface' | 'push' | 'boundary' | 'receipt' | 'patience' | 'reminder' | 'nothing'
      until?: number
    }

/** May we ring now? `now` is monotonic milliseconds, like every time in the history. */
export function decide(history: History, now: number): Decision {
  const { manual, pending } = history
  if (!history.reconciled) return { kind: 'wait', for: 'reconcile' }
  if (!isReachable(history)) return { kind: 'wait', for: 'surface' }
  // The quiet ones are rung for only when a person asks.
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

/** Where a bell can leave: in the answer to a report, or over the connection of a surface that stands idle. */
function boundary({ surface, take, rules }: History, now: number): Decision | null {
  if (take || (surface.turn === 'idle' && surface.delivery === 'push')) return null
  const { unknown_since } = surface
  // A surface without an open connection hears nothing in between.
  if (unknown_since === null || surface.delivery === 'pull') return { kind: 'wait', for: 'boundary' }
  // An unknown turn may be a running one, but not for ever. The surface itself still defers what it cannot take.
  const until = unknown_since + rules.reconnect_patience_ms
  return now < until ? { kind: 'wait', for: 'boundary', until } : null
}

/** A person who interrupted the agent is left alone until they send something, ask for a bell, or have been quiet. */
function interrupted({ surface, manual }: History, now: number): Decision | null {
  if (surface.interrupted_since === null || manual) return null
  const until = Math.max(surface.interrupted_since, surface.idle_since ?? 0) + LIMITS.interrupt_hold_ms
  return now < until ? { kind: 'wait', for: 'patience', until } : null
}

/** A backlog waits for activity, but a surface that stays idle is not left asleep for ever. */
function patience({ hold, manual, surface, rules }: History, now: number): Decision | null {
  if (hold === null || manual) return null
  const { reconnect_patience_ms, reconnect_grace_ms } = rules
  // It reports turns and gives receipts, so that it is idle is no guess.
  const by_evidence = rules.receipts && surface.turn === 'idle' && surface.delivery === 'push'
  const wait = by_evidence ? Math.min(reconnect_grace_ms, reconnect_patience_ms) : reconnect_patience_ms
  const until = Math.max(hold.since, surface.idle_since ?? hold.since) + wait
  return now < until ? { kind: 'wait', for: 'patience', until } : null
}

/** Signals that came back again and again rest a little, unless the agent is there and asks. */
function rest({ setbacks, manual, take }: History, now: number): Decision | null {
  if (manual || take || now >= setbacks.rest_until) return null
  return { kind: 'wait', for: 'patience', until: setbacks.rest_until }
}

/** After a bell none leaves until a turn that began since has ended, a drain, or the bell is lost. */
function oneForThisTurn(history: History, now: number): Decision | null {
  const { bell, fresh, manual, take } = history
  if (bell === null) return null
  if (bell.outcome === 'leaving') return { kind: 'wait', for: 'receipt' }
  // The way that broke is tried again after a while; the end of a turn is another way.
  if (bell.outcome === 'failed' && !take) return fresh || manual ? null : untilLost(history, bell, now)
  if (turnEndedSince(history, bell))
    return repeats(history, bell) && !wasLost(history, bell) ? reminder(history, bell, now) : null
  if (bell.outcome === 'held' && manual) return null
  return untilLost(history, bell, now)
}

/** The agent had its turn and did not drain: it is reminded ever later, and only so often. */
function reminder({ rerings, rules, surface }: History, bell: Bell, now: number): Decision | null {
  if (rerings >= rules.redoorbell_max) return { kind: 'wait', for: 'push' }
  const delays = LIMITS.reminders_ms
  const since = bell.ended_at ?? surface.idle_since ?? now
  const until = since + (delays[Math.min(rerings, delays.length - 1)] ?? 0)
  return now < until ? { kind: 'wait', for: 'reminder', until } : null
}

/**
 * Elapsed time alone never makes a bell lost: while its prompt is stored, queued or shown, no other bell is sent, whatever
 * turns have ended and whatever a drain has answered.
 */
function outstanding(history: History, now: number): Decision | null {
  const { surface, take, held_at, probe_id, rules } = history
  const holds = surface.outstanding_doorbell_id !== null
  if (!holds && (take || !mustAsk(history))) return null
  // A report that can be answered with a bell says itself what the surface holds.
  if (take || surface.delivery === 'pull' || probe_id !== null) return { kind: 'wait', for: 'receipt' }
  const until = held_at === null ? now : held_at + rules.bell_receipt_ms
  return now < until ? { kind: 'wait', for: 'receipt', until } : { kind: 'ask' }
}

function mustAsk({ unseen, surface, rules }: History): boolean {
  if (unseen === null || !rules.receipts || surface.delivery === 'pull') return false
  return isSameSession(unseen.session_id, surface.session_id)
}

/** Without receipts the turn that began so much later is another one, and its end arms the bell again. */
function wasLost({ rules, rerings }: History, { began_at, rung_at }: Bell): boolean {
  if (rules.receipts || began_at === null || rerings >= rules.redoorbell_max) return false
  return began_at - rung_at >= rules.bell_receipt_ms
}

function untilLost(history: History, bell: Bell, now: number): Decision | null {
  const until = lostAt(history, bell)
  return now < until ? { kind: 'wait', for: 'receipt', until } : null
}

/** Holds only at a boundary, where `decide` asks. */
function turnEndedSince({ surface }: History, bell: Bell): boolean {
  return surface.turn_seq > bell.turn_seq
}

/** The agent had the bell and the turn: ringing again says nothing new. */
function repeats({ fresh, manual, pending, surface, rules }: History, bell: Bell): boolean {
  if (bell.outcome !== 'open' || fresh || manual) return false
  // What an unsettled index hides may be new, so it is looked at.
  if (!pending.settled) return false
  // Without receipts each run of a command is a session of its own, and all of them count as one that fails.
  const is_own = bell.session_id === surface.session_id || !rules.receipts
  // A session that is back may have missed what rang for another.
  return is_own && !pending.entries.some((entry) => isLoud(entry) && entry.seq > coveredSeq(bell))
}

/**
 * When a bell without any trace counts as lost: the surface stood idle all the while. Each one in a row
 * doubles the wait, so that a surface that swallows bells is not hammered.
 *
 * A surface that cannot give receipts rings again at its next boundary. Should that never come, the
 * patience for sleeping agents holds for it too.
 */
function lostAt({ rules, surface, lost_rings }: History, bell: Bell): number {
  const since = Math.max(bell.rung_at, surface.idle_since ?? bell.rung_at)
  // Its turn is not known to have ended; what nobody tells of is waited for no longer than by a sleeping agent.
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

/** The surface stands at a boundary, something waits, and the re-rings are used up. */
export function isIgnored(history: History, now: number): boolean {
  const { bell } = history
  if (bell === null || !turnEndedSince(history, bell)) return false
  const decision = decide(history, now)
  return decision.kind === 'wait' && decision.for === 'push'
}

/** A bell is out and its turn has not come: asking for another would be a second one for the same turn. */
export function isOutstanding(history: History, now: number): boolean {
  const { bell, surface } = history
  if (surface.outstanding_doorbell_id !== null) return true
  if (bell === null) return false
  if (bell.outcome === 'leaving') return true
  if (bell.outcome !== 'open' || turnEndedSince(history, bell)) return false
  return now < lostAt(history, bell)
}

/** The one a bell names: the best of those no bell has named since the last drain, else the best. */
export function chooseSignal({ pending, named, manual }: History): PendingEntry | undefined {
  const candidates = manual ? pending.entries : pending.entries.filter(isLoud)
  return candidates.find(({ signal_id }) => !named.includes(signal_id)) ?? candidates[0]
}

/** The history once a bell has left. Only to be called where `decide` said `ring`. */
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
    // The answer to a report is in the surface's hands; of any other bell the surface will say.
    last_proof: history.take ? 'sent' : history.last_proof,
    named: [...history.named.filter((id) => waiting.has(id) && id !== entry.signal_id), entry.signal_id],
  }
}
