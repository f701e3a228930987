/** How changes of the queue, and of the link that reports them, change the history. */
import type { PendingEntry } from '../../contracts/frames.ts'
import { ANONYMOUS_SESSION_PREFIX } from '../../contracts/ids.ts'
import { coveredSeq, forgetBell, EMPTY_RECORD, NO_SETBACKS, type History } from '../history.ts'
import {
  hasRingable,
  isLoud,
  isWhole,
  indexRemoval,
  indexPush,
  indexRelease,
  type PendingIndex,
} from './pending-index.ts'

/**
 * Applies a push after the reconcile. A quiet push does not end a hold. A known signal is not new but still
 * releases a held backlog: the hub lists a signal shortly before it pushes it, so the list may already
 * contain it.
 */
export function applyPush(history: History, entry: PendingEntry, total: number): History {
  const { index, known } = indexPush(history.pending, entry, total)
  if (!isLoud(entry)) return { ...history, pending: index }
  if (known) return { ...history, hold: null }
  const setbacks = { ...history.setbacks, rest_until: 0 }
  return { ...history, pending: index, fresh: true, hold: null, setbacks }
}

/**
 * Applies a drain: it answers every doorbell and resets the record. Signals that it left are rung for like
 * new ones.
 */
export function applyDrain(history: History, signal_ids: readonly string[], total: number): History {
  const pending = indexRemoval(history.pending, signal_ids, total)
  // The agent has not seen the newer doorbell yet, so no other one may follow in its turn.
  if (precedesBell(history, signal_ids))
    return { ...history, ...EMPTY_RECORD, ...resetAfterDrain(history), pending }
  return { ...forgetBell(history), ...resetAfterDrain(history), pending }
}

/** Resets what any drain by the rung agent resets, whichever doorbell it answers. */
export function resetAfterDrain({ setbacks: { count, since_drain } }: History): Partial<History> {
  // After two drains without a release in between, the agent keeps the signals that it drains.
  const setbacks = { ...NO_SETBACKS, count: since_drain ? count : 0 }
  return { setbacks, manual: false, after_hold: false, hold: null }
}

/**
 * Whether the drain happened before the last doorbell: a list shows drained signals as gone shortly before
 * the drain is reported. Only known if the doorbell and the index both covered the whole queue.
 */
function precedesBell({ bell, pending }: History, signal_ids: readonly string[]): boolean {
  if (bell === null) return false
  const isUnknownTo = (index: PendingIndex) =>
    isWhole(index) && !index.entries.some(({ signal_id }) => signal_ids.includes(signal_id))
  return signal_ids.length > 0 && isUnknownTo(bell.covered) && isUnknownTo(pending)
}

/**
 * Whether this drain was made by the rung agent. A drain with another session id than the surface's is not:
 * it may be an operator who empties the queue by hand, or a second client.
 *
 * If either side has no session id, the drain is attributed to the agent: it used a token of this persona,
 * and an agent that drains without a session is more common than a foreign client that does. The cost of a
 * wrong guess is one extra doorbell.
 */
export function isOwnDrain({ surface }: History, session_id: string): boolean {
  return (
    surface.session_id === null ||
    surface.session_id === session_id ||
    session_id.startsWith(ANONYMOUS_SESSION_PREFIX)
  )
}

/**
 * Applies a drain by another session than the surface's. The agent still has its doorbell, so no other one
 * may follow in the same turn, even if the queue was empty in between.
 *
 * The record is reset all the same: an agent may drain under a session id that its surface does not know, and
 * an agent that drains in every turn does not ignore doorbells.
 */
export function applyForeignDrain(history: History, signal_ids: readonly string[], total: number): History {
  return { ...applyRemoval(history, signal_ids, total), ...EMPTY_RECORD }
}

/** Removes signals that left the queue without a drain. No doorbell is answered by that. */
export function applyRemoval(history: History, signal_ids: readonly string[], total: number): History {
  const after = { ...history, pending: indexRemoval(history.pending, signal_ids, total) }
  return total > 0
    ? after
    : { ...after, fresh: false, named: [], manual: false, after_hold: false, hold: null }
}

/**
 * Applies a release, after a lost session or by request: it counts as new, like a push. The first release
 * rings immediately. Each further one in a row waits longer; otherwise an agent that repeatedly drains and
 * crashes would loop until all signals are dead letters.
 */
export function applyRelease(history: History, total: number, now: number): History {
  const count = history.setbacks.count + 1
  const { bell_receipt_ms, reconnect_patience_ms } = history.rules
  const rest = count === 1 ? 0 : Math.min(bell_receipt_ms * 2 ** (count - 2), reconnect_patience_ms)
  const setbacks = { count, since_drain: true, rest_until: now + rest }
  return { ...history, pending: indexRelease(history.pending, total), fresh: true, hold: null, setbacks }
}

/**
 * Whether the list contains a loud signal that no doorbell covered: it is newer than the last doorbell, or it
 * returned to the queue while disconnected, according to the previous index.
 */
export function hasNews({ bell, pending }: History, listed: PendingIndex): boolean {
  const covered_seq = bell === null ? 0 : coveredSeq(bell)
  const known = isWhole(pending) ? new Set(pending.entries.map(({ signal_id }) => signal_id)) : null
  return listed.entries.some(
    (entry) => isLoud(entry) && (entry.seq > covered_seq || known?.has(entry.signal_id) === false),
  )
}

/**
 * Applies the hub's list after a reconnect. Pending signals are a backlog that rings at the next activity,
 * which may already have occurred while the list was requested (`active`). `answered`: the agent drained
 * while the link was down.
 */
export function applyListing(
  history: History,
  { pending, active, answered }: { pending: PendingIndex; active: boolean; answered: boolean },
  now: number,
): History {
  const { rules } = history
  const base = answered ? { ...forgetBell(history), ...resetAfterDrain(history) } : history
  const news = hasNews(base, pending)
  const waits = pending.total > 0
  const held = waits && rules.reconnect_ring === 'boundary' && !active
  // Over a link that drops repeatedly, the patience must not restart each time; otherwise nothing would ever
  // ring. Quiet signals cannot ring, so their waiting time does not count.
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

/** Applies a lost link: the index cannot justify a doorbell until the next list. A manual request is kept. */
export function applyDisconnect(history: History): History {
  return { ...history, reconciled: false, take: false }
}
