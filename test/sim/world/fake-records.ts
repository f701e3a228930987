/**
 * The hub's own records, as one of its processes sees them. A write waits for one sync before it is visible and for
 * another before it is reported, and fails when the disk fails. A process killed in between has written nothing, or has
 * not reported its write. A living process checks that it still owns the store right before the change, as the file
 * store does.
 */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { KindRecords, RecordStore } from '../../../src/ports/record-store.ts'
import { withOrderedWrites } from '../../../src/storage/file/records/ordered-writes.ts'
import { durableRecords } from '../../../src/storage/file/records/durable-reads.ts'
import { createRecordQueue } from '../../../src/storage/file/records/record-queue.ts'
import { systemError } from '../../support/disk/memory-disk.ts'
import type { Host } from './host.ts'
import type { DiskWorld } from './process-disk.ts'
import type { RecordPlatters } from './record-platters.ts'

/** `mayChange` throws after another hub has taken the store. */
export function playedRecords(
  platters: RecordPlatters,
  host: Host,
  world: DiskWorld,
  mayChange: () => void,
): RecordStore {
  const turns = createRecordQueue()
  const { store } = platters
  const mayFail = (code: string, chance: number) => {
    if (!world.dice.chance(chance)) return
    const cause = systemError(code, 'a record')
    throw new TurnbellError('store_unavailable', { detail: `a record cannot be written: ${code}`, cause })
  }
  const synced = async () => {
    const { sync_ms_max, sync_fails } = world.disk_faults
    const sync_ms = world.dice.between(0, sync_ms_max)
    if (sync_ms > 0) await new Promise<void>((resolve) => host.clock.after(sync_ms, resolve))
    mayFail('EIO', sync_fails)
  }
  const written = async (kind: string, id: string, how: (to: RecordStore) => Promise<void>) => {
    mayChange()
    mayFail('ENOSPC', world.disk_faults.full)
    await synced()
    const settle = await platters.change(kind, id, mayChange, how)
    await synced()
    settle()
  }
  const held = (kind: string): KindRecords => ({
    get: (id) => store.get(kind, id),
    list: () => store.list(kind),
    put: (id, body) => written(kind, id, (to) => to.put(kind, id, body)),
    remove: (id) => written(kind, id, (to) => to.remove(kind, id)),
    quarantine: (id, reason) => written(kind, id, (to) => to.quarantine(kind, id, reason)),
  })
  const folders = new Map<string, KindRecords>()
  const folderOf = (kind: string): KindRecords => {
    const sync = async () => {
      const settle = platters.settling(kind)
      await synced()
      settle()
    }
    const folder = folders.get(kind) ?? durableRecords(held(kind), sync)
    folders.set(kind, folder)
    return folder
  }
  return {
    list: async (kind) => folderOf(kind).list(),
    get: async (kind, id) => turns.perKey(kind, id, () => folderOf(kind).get(id)),
    put(kind, id, body) {
      const copy = structuredClone(body)
      return turns.perKey(kind, id, () => folderOf(kind).put(id, copy))
    },
    remove: async (kind, id) => turns.perKey(kind, id, () => folderOf(kind).remove(id)),
    quarantine: (kind, id, reason) => turns.perKey(kind, id, () => folderOf(kind).quarantine(id, reason)),
    exclusive: async (kind, work) => turns.exclusive(kind, () => withOrderedWrites(folderOf(kind), work)),
  }
}
