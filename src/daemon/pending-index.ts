/**
 * What the daemon has heard of the waiting signals: ids and metadata, at most
 * `LIMITS.pending_index_max`; the rest is a count. It paces doorbells and nothing more. The hub's
 * queue is the truth, and losing this index changes nothing but the next peek.
 */
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits.ts'

export interface PendingIndex {
  /** In the hub's order: highest priority first, then oldest. */
  entries: readonly PendingEntry[]
  /** How many wait at the hub, those beyond the index included. */
  total: number
  /**
   * The entries are the beginning of the hub's own order. False after news that named signals without
   * their metadata (a release), or that did not add up: then only a fresh listing tells what waits.
   */
  settled: boolean
}

export interface Listing {
  signals: readonly PendingEntry[]
  total: number
}

export const EMPTY_INDEX: PendingIndex = { entries: [], total: 0, settled: true }

/** The index after a listing that asked for as many as the index holds. */
export function fromListing({ signals, total }: Listing): PendingIndex {
  const entries = [...signals].sort(byRank).slice(0, LIMITS.pending_index_max)
  return { entries, total: Math.max(total, entries.length), settled: true }
}

/** `known` says that the push only repeats what the index has: it is no news. */
export function withPushed(
  index: PendingIndex,
  entry: PendingEntry,
  total: number,
): { index: PendingIndex; known: boolean } {
  if (index.entries.some(({ signal_id }) => signal_id === entry.signal_id)) return { index, known: true }
  const at = index.entries.findIndex((other) => byRank(entry, other) < 0)
  const entries = at === -1 ? [...index.entries, entry] : index.entries.toSpliced(at, 0, entry)
  // An index that was full knows the best of the queue still, as long as nothing else went missing.
  const settled = index.settled && total === index.total + 1
  return { index: { entries: entries.slice(0, LIMITS.pending_index_max), total, settled }, known: false }
}

export function withDrained(index: PendingIndex, signal_ids: readonly string[], total: number): PendingIndex {
  if (total <= 0) return EMPTY_INDEX
  const gone = new Set(signal_ids)
  const entries = index.entries.filter(({ signal_id }) => !gone.has(signal_id))
  const whole = entries.length === Math.min(total, LIMITS.pending_index_max)
  return { entries, total, settled: index.settled && whole }
}

/** A release names ids only; what they are is learned at the next look. */
export function withReleased(index: PendingIndex, total: number): PendingIndex {
  return { entries: index.entries, total, settled: false }
}

/** How much the look before a bell must ask for: the first will do while the rest is known, and the bell names that. */
export function checkLimit({ settled, entries }: PendingIndex, named: PendingEntry | undefined): number {
  return settled && named === entries[0] ? 1 : LIMITS.pending_index_max
}

/** The index after the look before a bell. A single signal that does not fit what we knew unsettles it. */
export function withChecked(index: PendingIndex, listing: Listing, limit: number): PendingIndex {
  if (limit > 1 || listing.total === 0) return fromListing(listing)
  const [first] = listing.signals
  const fits = first?.signal_id === index.entries[0]?.signal_id && listing.total === index.total
  if (fits || first === undefined) return { ...index, total: listing.total, settled: index.settled && fits }
  // Only what the hub has just said is safe to name in a bell.
  return { entries: [first], total: listing.total, settled: listing.total === 1 }
}

/** Whether the index has all that waits, and not only the best of it. */
export function isWhole({ entries, total, settled }: PendingIndex): boolean {
  return settled && entries.length === total
}

/** Priority 0 is quiet. What an unsettled index hides may be loud, so it is worth a look. */
export function hasRingable(index: PendingIndex): boolean {
  return index.entries.some(isLoud) || (!index.settled && index.total > 0)
}

export function isLoud(entry: PendingEntry): boolean {
  return entry.priority > 0
}

function byRank(a: PendingEntry, b: PendingEntry): number {
  return b.priority - a.priority || a.seq - b.seq
}
