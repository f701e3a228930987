/** Runs exclusive work on records that are written one at a time. */
import type { KindRecords } from '../../../ports/record-store.ts'
import { createRecordQueue } from './record-queue.ts'

/**
 * Lets the work make several calls at once: calls about one record run in order, and the work ends only when
 * all of them have ended.
 */
export async function withOrderedWrites<T>(
  records: KindRecords,
  work: (records: KindRecords) => Promise<T>,
): Promise<T> {
  const queue = createRecordQueue()
  const enqueue = <R>(id: string, act: () => Promise<R>) => queue.perKey('', id, act)
  try {
    return await work({
      put: async (id, body) => {
        // Copied, because the caller may change the body while the put is queued.
        const copy = structuredClone(body)
        return enqueue(id, () => records.put(id, copy))
      },
      get: (id) => enqueue(id, () => records.get(id)),
      list: () => records.list(),
      remove: (id) => enqueue(id, () => records.remove(id)),
      quarantine: (id, reason) => enqueue(id, () => records.quarantine(id, reason)),
    })
  } finally {
    await queue.exclusive('', async () => undefined)
  }
}
