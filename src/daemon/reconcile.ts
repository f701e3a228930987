/**
 * What the link brings while the authoritative list is on its way. The list answers for everything up
 * to its `as_of_seq`; what is newer, or was drained after it was made, is added to it.
 */
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits.ts'
import { fromListing, withDrained, withPushed, type Listing, type PendingIndex } from './pending-index.ts'

export interface Meanwhile {
  pushed: readonly PendingEntry[]
  drained: readonly string[]
  /** Something came that cannot be merged by ids: the next bell looks at the whole list again. */
  unsettled: boolean
}

export const NOTHING_MEANWHILE: Meanwhile = { pushed: [], drained: [], unsettled: false }

export function meanwhilePushed(meanwhile: Meanwhile, entry: PendingEntry): Meanwhile {
  if (meanwhile.pushed.length >= LIMITS.pending_index_max) return { ...meanwhile, unsettled: true }
  return { ...meanwhile, pushed: [...meanwhile.pushed, entry] }
}

export function meanwhileDrained(meanwhile: Meanwhile, signal_ids: readonly string[]): Meanwhile {
  const drained = [...meanwhile.drained, ...signal_ids]
  // Drains without end during one reconcile are not worth remembering: a later look tells.
  if (drained.length > LIMITS.pending_index_max) return { ...meanwhile, drained: [], unsettled: true }
  return { ...meanwhile, drained }
}

export function meanwhileReleased(meanwhile: Meanwhile, signal_ids: readonly string[]): Meanwhile {
  const back = new Set(signal_ids)
  return { ...meanwhile, drained: meanwhile.drained.filter((id) => !back.has(id)), unsettled: true }
}

/**
 * Whether a signal was drained while the link was down: it is gone from a list that names all, and what came meanwhile does
 * not say where it went.
 */
export function drainedUnheard(
  signal_id: string,
  { signals, total }: Listing,
  { drained, unsettled }: Meanwhile,
): boolean {
  const is_listed = signals.some((entry) => entry.signal_id === signal_id)
  return total === signals.length && !is_listed && !unsettled && !drained.includes(signal_id)
}

export function merge(listing: Listing & { as_of_seq: number }, meanwhile: Meanwhile): PendingIndex {
  let index = fromListing(listing)
  for (const entry of meanwhile.pushed) {
    // Not newer than the list and not on it: drained already.
    if (entry.seq > listing.as_of_seq) index = withPushed(index, entry, index.total + 1).index
  }
  const gone = meanwhile.drained.filter((id) => index.entries.some(({ signal_id }) => signal_id === id))
  if (gone.length > 0) index = withDrained(index, gone, index.total - gone.length)
  return meanwhile.unsettled && index.total > 0 ? { ...index, settled: false } : index
}
