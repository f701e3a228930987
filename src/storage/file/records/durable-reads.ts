/** Records that are returned only once they are durable. */
import type { KindRecords } from '../../../ports/record-store.ts'

/**
 * Wraps records so that reads return only durable state. Changes of a killed process may be visible but not synced, and so
 * may a change whose own sync failed. Therefore `sync`, which makes all of them durable, runs before the first read and again
 * after each failure. A list waits for the changes that it may have seen partially.
 */
export function durableRecords(records: KindRecords, sync: () => Promise<void>): KindRecords {
  let synced: Promise<void> | null = null
  /** Changes that may be visible but are not durable yet. */
  const in_flight = new Set<Promise<void>>()
  const ensureSynced = async (): Promise<void> => {
    const syncing = (synced ??= sync())
    try {
      await syncing
    } catch (error) {
      if (synced === syncing) synced = null
      throw error
    }
    // A change failed during this sync, possibly after its files were synced.
    if (synced !== syncing) await ensureSynced()
  }
  const change = async (work: () => Promise<void>): Promise<void> => {
    await ensureSynced()
    const changed = work()
    const ended = changed.catch(() => void (synced = null))
    in_flight.add(ended)
    try {
      await changed
    } finally {
      in_flight.delete(ended)
    }
  }
  return {
    async get(id) {
      await ensureSynced()
      return records.get(id)
    },
    async list() {
      for (;;) {
        await ensureSynced()
        const before = synced
        const listed = await records.list()
        await Promise.all(in_flight)
        if (synced === before) return listed
      }
    },
    put: (id, body) => change(() => records.put(id, body)),
    remove: (id) => change(() => records.remove(id)),
    quarantine: (id, reason) => records.quarantine(id, reason),
  }
}
