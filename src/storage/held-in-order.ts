/** Exclusive work on records that are written one by one. */
import type { HeldRecords } from '../ports/record-store.ts'
import { createTurns } from './turns.ts'

/**
 * The work may ask for several things at once: what is done to one record is done in the order of the calls,
 * and the work is not over before all of it is done.
 */
export async function heldInOrder<T>(
  records: HeldRecords,
  work: (records: HeldRecords) => Promise<T>,
): Promise<T> {
  const turns = createTurns()
  const inTurn = <R>(id: string, act: () => Promise<R>) => turns.one('', id, act)
  try {
    return await work({
      put: async (id, body) => {
        // As it is now: the caller may change it while the put waits for its turn.
        const copy = structuredClone(body)
        return inTurn(id, () => records.put(id, copy))
      },
      get: (id) => inTurn(id, () => records.get(id)),
      list: () => records.list(),
      remove: (id) => inTurn(id, () => records.remove(id)),
      setAside: (id, reason) => inTurn(id, () => records.setAside(id, reason)),
    })
  } finally {
    await turns.alone('', async () => undefined)
  }
}
