/**
 * The daemon's index of pending signals: ids and metadata of at most `LIMITS.pending_index_max`, and a count
 * of the rest. It only paces doorbells. The hub's queue is authoritative, so losing the index only costs one
 * more peek.
 */
import type { PendingEntry } from '../../contracts/frames.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface PendingIndex {
  /** In the hub's order: highest priority first, then oldest. */
  entries: readonly PendingEntry[]
  /** Number of signals pending at the hub, including those beyond the index. */
  total: number
  /**
   * Whether the entries are a prefix of the hub's order. False after a change that named signals without
   * metadata (a release), or whose counts do not add up; then only a new listing is reliable.
   */
  settled: boolean
}

export interface Listing {
  signals: readonly PendingEntry[]
  total: number
}

export const EMPTY_INDEX: PendingIndex = { entries: [], total: 0, settled: true }

/** The index after a listing with the limit `pending_index_max`. */
export function indexListing({ signals, total }: Listing): PendingIndex {
  const entries = [...signals].sort(byRank).slice(0, LIMITS.pending_index_max)
  return { entries, total: Math.max(total, entries.length), settled: true }
}

/** Adds a pushed signal. `known`: the index already contains it. */
export function indexPush(
  index: PendingIndex,
  entry: PendingEntry,
  total: number,
): { index: PendingIndex; known: boolean } {
  if (index.entries.some(({ signal_id }) => signal_id === entry.signal_id)) return { index, known: true }
  const at = index.entries.findIndex((other) => byRank(entry, other) < 0)
  const entries = at === -1 ? [...index.entries, entry] : index.entries.toSpliced(at, 0, entry)
  // A full index still contains the best entries if no other signal is missing.
  const settled = index.settled && total === index.total + 1
  return { index: { entries: entries.slice(0, LIMITS.pending_index_max), total, settled }, known: false }
}

export function indexRemoval(
  index: PendingIndex,
  signal_ids: readonly string[],
  total: number,
): PendingIndex {
  if (total <= 0) return EMPTY_INDEX
  const gone = new Set(signal_ids)
  const entries = index.entries.filter(({ signal_id }) => !gone.has(signal_id))
  const whole = entries.length === Math.min(total, LIMITS.pending_index_max)
  return { entries, total, settled: index.settled && whole }
}

/** A release names only ids; the metadata is read at the next check. */
export function indexRelease(index: PendingIndex, total: number): PendingIndex {
  return { entries: index.entries, total, settled: false }
}

/**
 * Number of entries that the check before a doorbell must request. One is enough if the index is settled and
 * the doorbell names the first entry.
 */
export function checkLimit({ settled, entries }: PendingIndex, named: PendingEntry | undefined): number {
  return settled && named === entries[0] ? 1 : LIMITS.pending_index_max
}

/** The index after the check before a doorbell. A single signal that does not match the index unsettles it. */
export function indexCheck(index: PendingIndex, listing: Listing, limit: number): PendingIndex {
  if (limit > 1 || listing.total === 0) return indexListing(listing)
  const [first] = listing.signals
  const fits = first?.signal_id === index.entries[0]?.signal_id && listing.total === index.total
  if (fits || first === undefined) return { ...index, total: listing.total, settled: index.settled && fits }
  // Only the signal just listed by the hub may be named in a doorbell.
  return { entries: [first], total: listing.total, settled: listing.total === 1 }
}

/** Whether the index contains every pending signal. */
export function isWhole({ entries, total, settled }: PendingIndex): boolean {
  return settled && entries.length === total
}

/**
 * Whether a loud signal is pending, or may be: signals of priority 0 are quiet, but an unsettled index may
 * hide loud ones.
 */
export function hasRingable(index: PendingIndex): boolean {
  return index.entries.some(isLoud) || (!index.settled && index.total > 0)
}

export function isLoud(entry: PendingEntry): boolean {
  return entry.priority > 0
}

function byRank(a: PendingEntry, b: PendingEntry): number {
  return b.priority - a.priority || a.seq - b.seq
}
