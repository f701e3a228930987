/**
 * Changes that arrive while the hub's authoritative list is requested. The list covers everything up to its
 * `as_of_seq`; newer pushes and later drains are merged into it.
 */
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import {
  indexListing,
  indexRemoval,
  indexPush,
  type Listing,
  type PendingIndex,
} from './queue/pending-index.ts'

export interface InterimChanges {
  pushed: readonly PendingEntry[]
  drained: readonly string[]
  /**
   * A change arrived that cannot be merged by id, so the whole list is checked again before the next
   * doorbell.
   */
  unsettled: boolean
}

export const NO_INTERIM_CHANGES: InterimChanges = { pushed: [], drained: [], unsettled: false }

export function interimPush(interim: InterimChanges, entry: PendingEntry): InterimChanges {
  if (interim.pushed.length >= LIMITS.pending_index_max) return { ...interim, unsettled: true }
  return { ...interim, pushed: [...interim.pushed, entry] }
}

export function interimDrain(interim: InterimChanges, signal_ids: readonly string[]): InterimChanges {
  const drained = [...interim.drained, ...signal_ids]
  // Too many drains during one reconcile are not stored; a later check corrects the index.
  if (drained.length > LIMITS.pending_index_max) return { ...interim, drained: [], unsettled: true }
  return { ...interim, drained }
}

export function interimRelease(interim: InterimChanges, signal_ids: readonly string[]): InterimChanges {
  const back = new Set(signal_ids)
  return { ...interim, drained: interim.drained.filter((id) => !back.has(id)), unsettled: true }
}

/**
 * Whether the signal was drained while the link was down: it is missing from a complete list, and no interim
 * change explains why.
 */
export function drainedWhileDisconnected(
  signal_id: string,
  { signals, total }: Listing,
  { drained, unsettled }: InterimChanges,
): boolean {
  const is_listed = signals.some((entry) => entry.signal_id === signal_id)
  return total === signals.length && !is_listed && !unsettled && !drained.includes(signal_id)
}

export function merge(listing: Listing & { as_of_seq: number }, interim: InterimChanges): PendingIndex {
  let index = indexListing(listing)
  for (const entry of interim.pushed) {
    // A signal not newer than the list and not on it has been drained.
    if (entry.seq > listing.as_of_seq) index = indexPush(index, entry, index.total + 1).index
  }
  const gone = interim.drained.filter((id) => index.entries.some(({ signal_id }) => signal_id === id))
  if (gone.length > 0) index = indexRemoval(index, gone, index.total - gone.length)
  return interim.unsettled && index.total > 0 ? { ...index, settled: false } : index
}
