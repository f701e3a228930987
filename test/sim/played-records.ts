/**
 * The hub's own records, as one of its processes has them: a write takes as long as the disk's syncs do, before it is there
 * and once more before anybody is told. Who is gone by then has written nothing, or told of nothing; who is still there asks
 * right before the change whether the place is its own, as the store of files does.
 */
import type { HeldRecords, RecordStore } from '../../src/ports/record-store.ts'
import { heldInOrder } from '../../src/storage/held-in-order.ts'
import { createTurns } from '../../src/storage/turns.ts'
import type { Host } from './host.ts'
import type { DiskWorld } from './process-disk.ts'

/** `mayChange` throws once another hub has the store. `records` are shared by all that come after this process. */
export function playedRecords(
  records: RecordStore,
  host: Host,
  world: DiskWorld,
  mayChange: () => void,
): RecordStore {
  const turns = createTurns()
  const synced = async () => {
    const sync_ms = world.dice.between(0, world.disk_faults.sync_ms_max)
    if (sync_ms > 0) await new Promise<void>((resolve) => host.clock.after(sync_ms, resolve))
  }
  const written = async (change: () => Promise<void>) => {
    mayChange()
    await synced()
    mayChange()
    await change()
    await synced()
  }
  const of = (kind: string): HeldRecords => ({
    get: (id) => records.get(kind, id),
    list: () => records.list(kind),
    put: (id, body) => written(() => records.put(kind, id, body)),
    remove: (id) => written(() => records.remove(kind, id)),
    setAside: (id, reason) => written(() => records.setAside(kind, id, reason)),
  })
  return {
    list: (kind) => records.list(kind),
    get: (kind, id) => turns.one(kind, id, () => of(kind).get(id)),
    put(kind, id, body) {
      const copy = structuredClone(body)
      return turns.one(kind, id, () => of(kind).put(id, copy))
    },
    remove: (kind, id) => turns.one(kind, id, () => of(kind).remove(id)),
    setAside: (kind, id, reason) => turns.one(kind, id, () => of(kind).setAside(id, reason)),
    exclusive: (kind, work) => turns.alone(kind, () => heldInOrder(of(kind), work)),
  }
}
