/** What news of the queue, and of the link that brings it, changes in what the pacer knows. */
import type { PendingEntry } from '../contracts/frames.ts'
import { ANONYMOUS_SESSION_PREFIX } from '../contracts/ids.ts'
import { coveredSeq, forgetBell, NO_RECORD, NO_SETBACKS, type History } from './history.ts'
import {
  hasRingable,
  isLoud,
  isWhole,
  withDrained,
  withPushed,
  withReleased,
  type PendingIndex,
} from './pending-index.ts'

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

/**
 * Whether something loud is on a list that no bell has been for: it is newer than the last one, or it came back to
 * the queue unheard, as far as the index that we had can tell.
 */
export function hasNews({ bell, pending }: History, listed: PendingIndex): boolean {
  const covered_seq = bell === null ? 0 : coveredSeq(bell)
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
  const base = answered ? { ...forgetBell(history), ...afterDrain(history) } : history
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
