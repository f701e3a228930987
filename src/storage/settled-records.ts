/** Records of which nothing that a former process or a failure has left is told before it would survive a crash. */
import type { HeldRecords } from '../ports/record-store.ts'

/**
 * What a killed process has changed and not yet synced is there to be read, and so is a change whose own sync has failed;
 * whoever is told of it takes it for kept. So `sync`, which makes all of them durable, comes before the first answer and
 * before the next one after a failure. A list waits for the changes that it may have met half-way.
 */
export function settledRecords(records: HeldRecords, sync: () => Promise<void>): HeldRecords {
  let settled: Promise<void> | null = null
  /** Changes that may be there to be read, and are not durable yet. */
  const under_way = new Set<Promise<void>>()
  const settle = async (): Promise<void> => {
    const settling = (settled ??= sync())
    try {
      await settling
    } catch (error) {
      if (settled === settling) settled = null
      throw error
    }
    // Something has failed meanwhile, perhaps behind what this one has synced.
    if (settled !== settling) await settle()
  }
  const changing = async (change: () => Promise<void>): Promise<void> => {
    await settle()
    const changed = change()
    const over = changed.catch(() => void (settled = null))
    under_way.add(over)
    try {
      await changed
    } finally {
      under_way.delete(over)
    }
  }
  return {
    async get(id) {
      await settle()
      return records.get(id)
    },
    async list() {
      for (;;) {
        await settle()
        const settling = settled
        const listed = await records.list()
        await Promise.all(under_way)
        if (settled === settling) return listed
      }
    },
    put: (id, body) => changing(() => records.put(id, body)),
    remove: (id) => changing(() => records.remove(id)),
    setAside: (id, reason) => records.setAside(id, reason),
  }
}
