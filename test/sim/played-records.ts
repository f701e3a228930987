/**
 * The hub's own records, as one of its processes has them: a write takes as long as the disk's syncs do. Who is gone by then
 * has written nothing; who is still there asks once more whether the place is its own, as the store of files does.
 */
import type { HeldRecords, RecordStore } from '../../src/ports/record-store.ts'
import type { Host } from './host.ts'
import type { DiskWorld } from './process-disk.ts'

/** `mayChange` throws once another hub has the store. `records` are shared by all that come after this process. */
export function playedRecords(
  records: RecordStore,
  host: Host,
  world: DiskWorld,
  mayChange: () => void,
): RecordStore {
  const written = async (change: () => Promise<void>) => {
    mayChange()
    const write_ms = world.dice.between(0, world.disk_faults.sync_ms_max)
    if (write_ms > 0) await new Promise<void>((resolve) => host.clock.after(write_ms, resolve))
    mayChange()
    return change()
  }
  // At once: the work holds up everybody else's, and its process may be killed.
  const held = (own: HeldRecords): HeldRecords => {
    const ours = async (change: () => Promise<void>) => {
      mayChange()
      return change()
    }
    return {
      ...own,
      put: (id, body) => ours(() => own.put(id, body)),
      remove: (id) => ours(() => own.remove(id)),
      setAside: (id, reason) => ours(() => own.setAside(id, reason)),
    }
  }
  return {
    get: (kind, id) => records.get(kind, id),
    list: (kind) => records.list(kind),
    put: (kind, id, body) => {
      const copy = structuredClone(body)
      return written(() => records.put(kind, id, copy))
    },
    remove: (kind, id) => written(() => records.remove(kind, id)),
    setAside: (kind, id, reason) => written(() => records.setAside(kind, id, reason)),
    exclusive: (kind, work) => records.exclusive(kind, (own) => work(held(own))),
  }
}
