/**
 * What the pacer knows, and how each piece of news changes it. Pure: every function takes the history
 * and returns the next one. Times are monotonic milliseconds that come in with the news.
 */
import type { Proof, SurfaceReport } from '../contracts/control.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import { ANONYMOUS_SESSION_PREFIX, type SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { SurfaceFacts, Turn } from '../contracts/registry.ts'
import {
  EMPTY_INDEX,
  hasRingable,
  isLoud,
  isWhole,
  withDrained,
  withPushed,
  withReleased,
  type PendingIndex,
} from './pending-index.ts'

export interface PacerRules {
  reconnect_ring: 'boundary' | 'idle'
  reconnect_patience_ms: number
  bell_receipt_ms: number
  redoorbell_max: number
  /**
   * The surface can tell that a bell was seen. Without that a bell is only known to be lost when nothing
   * happens for very long.
   */
  receipts: boolean
}

export interface SurfaceView {
  attached: boolean
  /** Whether one has ever attached to this daemon: only then can one come back. */
  known: boolean
  kind: SurfaceKind
  session_id: string | null
  /** The last session that had a name. One that is back after nobody was there is no other agent. */
  last_session_id: string | null
  delivery: 'push' | 'pull'
  turn: Turn
  turn_seq: number
  /** Since when the turn has been idle without a break; null while it is not. */
  idle_since: number | null
  /** The same for a turn of which nothing is known. */
  unknown_since: number | null
}

/** The last bell, until a drain answers it. */
export interface Bell {
  doorbell_id: string
  signal_id: string
  /** The surface's turn_seq when it left: a larger one means that a new turn began since. */
  turn_seq: number
  rung_at: number
  /** What was known to wait when it left: whatever else waits has never rung. */
  covered: PendingIndex
  seen: boolean
  /**
   * `leaving`: the surface has not answered yet. `open`: it has it. `held`: it could not take it just
   * then. `failed`: the attempt broke. The last two reached nobody.
   */
  outcome: 'leaving' | 'open' | 'held' | 'failed'
}

export interface History {
  rules: PacerRules
  /** The hub's list was read on the link we have. */
  reconciled: boolean
  pending: PendingIndex
  surface: SurfaceView
  /** A report waits whose answer can carry a bell: the end of a turn, whatever its `turn` says. */
  take: boolean
  bell: Bell | null
  /** Something loud came to wait after the last bell left. */
  fresh: boolean
  /** Bells in a row that only repeated what was rung already, since the last drain. */
  rerings: number
  /** Bells in a row that left no trace, since the last drain or receipt. */
  lost_rings: number
  /** What became of the last doorbell, as far as anybody knows; null before the first. */
  last_proof: Proof | null
  /** Sessions whose re-rings count, or counted, in this record: none of them begins a new one. */
  sessions: readonly string[]
  /** In which turn each session was last rung, since the last drain; newest last. */
  rung_in: readonly { session_id: string; turn_seq: number }[]
  /** The re-rings are used up and a turn ended without a drain once more. */
  ignored: boolean
  /** A backlog found at a reconnect waits for activity. */
  hold: { since: number } | null
  /** The next bell is the first since a hold. */
  after_hold: boolean
  /** `notify_surface` asked for a bell. */
  manual: boolean
  /** How often in a row a drain was taken back, and until when the next bell for that rests. */
  setbacks: { count: number; since_drain: boolean; rest_until: number }
  /** Signals that a bell has named since the last drain; only those that still wait. */
  named: readonly string[]
}

const NO_SETBACKS: History['setbacks'] = { count: 0, since_drain: false, rest_until: 0 }

export function newHistory(rules: PacerRules, kind: SurfaceKind): History {
  return {
    rules,
    reconciled: false,
    pending: EMPTY_INDEX,
    surface: {
      attached: false,
      known: false,
      kind,
      session_id: null,
      last_session_id: null,
      delivery: 'push',
      turn: 'unknown',
      turn_seq: 0,
      idle_since: null,
      unknown_since: null,
    },
    take: false,
    bell: null,
    fresh: false,
    rerings: 0,
    lost_rings: 0,
    last_proof: null,
    sessions: [],
    rung_in: [],
    ignored: false,
    hold: null,
    after_hold: false,
    manual: false,
    setbacks: NO_SETBACKS,
    named: [],
  }
}

export function factsOf({ surface }: History): SurfaceFacts {
  const { attached, session_id, turn, turn_seq } = surface
  return { attached, session_id: attached ? session_id : null, turn, turn_seq }
}

/** A turn of which nothing is known counts as a running one, but not for ever. */
export function deliveryOf(
  { surface, ignored, lost_rings, bell, pending }: History,
  now: number,
): 'ok' | 'degraded' {
  // What a broken bell was for may have been taken by somebody else: then nothing is undelivered.
  const broke = bell?.outcome === 'failed' && pending.total > 0
  const unheard = ignored || lost_rings >= LIMITS.lost_rings_max || broke
  const { attached, unknown_since } = surface
  const unread = unknown_since !== null && now - unknown_since >= LIMITS.turn_unknown_max_ms
  return !attached || unheard || unread ? 'degraded' : 'ok'
}

/**
 * A push while reconciled. A quiet one waits for others to ring: it ends no hold. One that is known
 * already is no new signal, but still what a backlog waits for: the hub lists a signal a moment before it
 * pushes it, so a list may name what is only now on its way.
 */
export function pushed(history: History, entry: PendingEntry, total: number): History {
  const { index, known } = withPushed(history.pending, entry, total)
  if (!isLoud(entry)) return { ...history, pending: index }
  if (known) return { ...history, hold: null }
  const setbacks = { ...history.setbacks, rest_until: 0 }
  return { ...history, pending: index, fresh: true, hold: null, setbacks }
}

/** A drain answers every bell and begins everything anew; what it left is rung for like something new. */
export function drained(history: History, signal_ids: readonly string[], total: number): History {
  const pending = withDrained(history.pending, signal_ids, total)
  // The agent has not seen the newer bell yet, and none may follow in its turn.
  if (isOlderThanBell(history, signal_ids))
    return { ...history, ...NO_RECORD, ...afterDrain(history), pending }
  return { ...forgetBell(history), ...afterDrain(history), pending }
}

/** The rung agent has taken something, whatever that answers. */
export function afterDrain({ setbacks: { count, since_drain } }: History): Partial<History> {
  // Two drains with nothing taken back in between: the agent keeps what it takes.
  const setbacks = { ...NO_SETBACKS, count: since_drain ? count : 0 }
  return { setbacks, manual: false, after_hold: false, hold: null }
}

/**
 * Whether the hub tells of a drain that the last bell has not waited for: a list shows what a drain took as gone a
 * moment before the drain is told. Only known where bell and index have seen the whole queue.
 */
function isOlderThanBell({ bell, pending }: History, signal_ids: readonly string[]): boolean {
  if (bell === null) return false
  const isUnknownTo = (index: PendingIndex) =>
    isWhole(index) && !index.entries.some(({ signal_id }) => signal_ids.includes(signal_id))
  return signal_ids.length > 0 && isUnknownTo(bell.covered) && isUnknownTo(pending)
}

/**
 * Whether this drain was the rung agent's. It is not when it bears another session's name than the
 * surface does: an operator who empties the queue by hand, a second client.
 *
 * Where one of the two has no name nothing tells them apart, and the drain is taken for the agent's: it
 * used a token of this persona, and an agent that drains without a session is far more common than a
 * stranger that does. A bell too many is the worst that can come of it.
 */
export function isOwnDrain({ surface }: History, session_id: string): boolean {
  return (
    surface.session_id === null ||
    surface.session_id === session_id ||
    session_id.startsWith(ANONYMOUS_SESSION_PREFIX)
  )
}

/**
 * A drain by another session than the surface's. The agent still has its bell, so none may follow in the
 * same turn, even where nothing was left to ring for and something new comes.
 *
 * The re-rings begin anew all the same: an agent may drain under a name its surface does not know, and one
 * that takes some in every turn ignores nothing.
 */
export function drainedElsewhere(history: History, signal_ids: readonly string[], total: number): History {
  return { ...gone(history, signal_ids, total), ...NO_RECORD }
}

/** Left the queue without a drain: there is less to ring for, and no bell is answered. */
export function gone(history: History, signal_ids: readonly string[], total: number): History {
  const after = { ...history, pending: withDrained(history.pending, signal_ids, total) }
  return total > 0
    ? after
    : { ...after, fresh: false, named: [], manual: false, after_hold: false, hold: null }
}

/**
 * Taken back from a session that was lost, or given back: to the pacer that is news, like a push. The
 * first time rings at once. An agent that takes its signals and dies again and again would be run in a
 * circle until they are all dead letters, so each further time in a row waits longer.
 */
export function released(history: History, total: number, now: number): History {
  const count = history.setbacks.count + 1
  const { bell_receipt_ms, reconnect_patience_ms } = history.rules
  const rest = count === 1 ? 0 : Math.min(bell_receipt_ms * 2 ** (count - 2), reconnect_patience_ms)
  const setbacks = { count, since_drain: true, rest_until: now + rest }
  return { ...history, pending: withReleased(history.pending, total), fresh: true, hold: null, setbacks }
}

/** What a drain, or another agent, wipes clean. */
const NO_RECORD = { rerings: 0, ignored: false, sessions: [] } as const

export function forgetBell(history: History): History {
  return { ...history, ...NO_RECORD, lost_rings: 0, bell: null, rung_in: [], fresh: false, named: [] }
}

/** The surface was started anew by hand: neither it nor its agent has a past. */
export function resumed(history: History): History {
  return { ...surfaceLost(forgetBell(history)), setbacks: NO_SETBACKS, last_proof: null }
}

/**
 * Whether something loud is on a list that no bell has been for: it is newer than the last one, or it came back to
 * the queue unheard, as far as the index that we had can tell.
 */
export function hasNews({ bell, pending }: History, listed: PendingIndex): boolean {
  const covered_seq = bell?.covered.entries.reduce((newest, { seq }) => Math.max(newest, seq), 0) ?? 0
  const known = isWhole(pending) ? new Set(pending.entries.map(({ signal_id }) => signal_id)) : null
  return listed.entries.some(
    (entry) => isLoud(entry) && (entry.seq > covered_seq || known?.has(entry.signal_id) === false),
  )
}

/**
 * The hub's list after a reconnect. What waits is a backlog: it rings at the next activity, which may
 * already have happened while the list was on its way (`active`). `answered`: the agent drained while we were away.
 */
export function reconciled(
  history: History,
  { pending, active, answered }: { pending: PendingIndex; active: boolean; answered: boolean },
  now: number,
): History {
  const { rules } = history
  const base = answered ? forgetBell(history) : history
  const news = hasNews(base, pending)
  const waits = pending.total > 0
  const held = waits && rules.reconnect_ring === 'boundary' && !active
  // Over a link that drops again and again the patience must not begin anew each time: nothing would
  // ever ring. What waits quietly cannot ring, so its waiting counts for nothing.
  const waited = hasRingable(history.pending) ? base.hold : null
  return {
    ...base,
    reconciled: true,
    pending,
    fresh: base.fresh || news || !pending.settled,
    hold: held ? (waited ?? { since: now }) : null,
    after_hold: waits,
  }
}

/**
 * The link is gone: nothing we know of the queue is good for a bell until the next list. A bell that was asked for
 * still is.
 */
export function disconnected(history: History): History {
  return { ...history, reconciled: false, take: false }
}

/** `active` tells that this report is one of the moments a backlog waits for. */
export function reported(
  history: History,
  report: SurfaceReport,
  now: number,
): { history: History; active: boolean; seen: boolean } {
  const before = history.surface
  // A hook that does not know its session speaks for the one whose hooks spoke before. A shim says what it has.
  const speaks_for = report.delivery === 'pull' && before.attached ? before.session_id : null
  const session_id = report.session_id ?? speaks_for
  const { last_session_id } = before
  const another = last_session_id !== null && session_id !== null && last_session_id !== session_id
  const returned = before.known && !before.attached
  // A shim that was restarted counts its turns anew; its first word is a baseline, no boundary.
  const continues = before.attached && !another && report.turn_seq >= before.turn_seq
  const turned =
    continues && (report.turn_seq > before.turn_seq || (before.turn === 'busy' && report.turn === 'idle'))
  const stands = continues && before.turn === 'idle' && report.turn_seq === before.turn_seq
  const active = turned || another || returned || report.take === true
  const surface: SurfaceView = {
    attached: true,
    known: true,
    kind: report.surface,
    session_id,
    last_session_id: session_id ?? last_session_id,
    delivery: report.delivery,
    turn: report.turn,
    turn_seq: report.turn_seq,
    idle_since: report.turn === 'idle' ? (stands ? before.idle_since : now) : null,
    unknown_since:
      report.turn === 'unknown' ? ((before.attached ? before.unknown_since : null) ?? now) : null,
  }
  const bell = continues ? history.bell : rebase(history, report, another)
  const seen = bell !== null && !bell.seen && report.seen_doorbell_id === bell.doorbell_id
  return {
    active,
    seen,
    history: {
      ...history,
      ...(another && bell !== null ? recordOf(history, last_session_id, session_id) : {}),
      surface,
      take: report.take === true,
      hold: active ? null : history.hold,
      bell: seen ? { ...bell, seen: true, outcome: 'open' } : bell,
      ...(seen && { lost_rings: 0, last_proof: 'confirmed' as const }),
    },
  }
}

/**
 * The record of unanswered bells when the surface is another session. A new agent did not ignore them,
 * and begins with none; one of those that did, or two that take turns, does not.
 *
 * Where nothing gives receipts the record stays: a command that fails gets a new session each time, and
 * must not be run in a circle.
 */
function recordOf(history: History, left: string, came: string): Partial<History> {
  if (!history.rules.receipts || history.sessions.includes(came)) return {}
  const known = history.sessions.filter((session) => session !== left)
  const sessions = [...known, left, came].slice(-LIMITS.bell_sessions_max)
  // Whatever waits has never rung for this one.
  return { ...NO_RECORD, sessions, fresh: true }
}

/**
 * Keeps the bell comparable after another surface came, or the same one came back and perhaps counts its turns anew.
 *
 * Another session has not been rung, so where it stands counts as past the bell's turn; one that was rung, before
 * another came between, has to end the turn of its own bell. In the same session a turn that runs now may be the one
 * the bell began. An idle surface tells nothing of what became of the bell, unless its counter stands where it stood:
 * that of a new shim may begin anywhere. So the bell is taken as not seen and can be found lost.
 */
function rebase({ bell, rung_in, surface }: History, report: SurfaceReport, another: boolean): Bell | null {
  if (bell === null) return null
  const past = { ...bell, turn_seq: report.turn_seq - 1 }
  const rung = rung_in.findLast(({ session_id }) => session_id === report.session_id)
  if (another && (rung === undefined || rung.turn_seq < report.turn_seq)) return past
  if (report.turn === 'busy') return past
  const is_same_shim = !another && report.turn_seq === surface.turn_seq && report.turn_seq > bell.turn_seq
  return is_same_shim ? bell : { ...bell, turn_seq: report.turn_seq, seen: false }
}

export function surfaceLost(history: History): History {
  const surface: SurfaceView = {
    ...history.surface,
    ...{ attached: false, turn: 'unknown', idle_since: null, unknown_since: null },
  }
  return { ...history, surface, take: false }
}

/** What the surface answered to the bell. An answer to an older bell says nothing about this one. */
export function bellAnswered(
  history: History,
  doorbell_id: string,
  accepted: boolean,
  proof: Proof,
): { history: History; seen: boolean } {
  const { bell } = history
  if (bell === null || bell.doorbell_id !== doorbell_id) return { history, seen: false }
  // Once the agent has seen it, whoever could not say in time that it was taken is wrong.
  if (accepted || bell.seen) {
    const seen = proof === 'confirmed' && !bell.seen
    const known: Bell = { ...bell, outcome: 'open', seen: bell.seen || seen }
    const last_proof = known.seen ? 'confirmed' : proof
    return { history: { ...history, last_proof, bell: known, ...(seen && { lost_rings: 0 }) }, seen }
  }
  const outcome = proof === 'deferred' ? 'held' : 'failed'
  return { history: { ...history, last_proof: proof, bell: { ...bell, outcome } }, seen: false }
}
