/**
 * The hub's own records, as one of its processes has them: a write takes as long as the disk's syncs do, before it is there
 * and once more before anybody is told, and fails as the disk does. Who is gone by then has written nothing, or told of
 * nothing; who is still there asks right before the change whether the place is its own, as the store of files does.
 */
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { HeldRecords, RecordStore } from '../../src/ports/record-store.ts'
import { heldInOrder } from '../../src/storage/held-in-order.ts'
import { settledRecords } from '../../src/storage/settled-records.ts'
import { createTurns } from '../../src/storage/turns.ts'
import { systemError } from '../support/memory-disk.ts'
import type { Host } from './host.ts'
import type { DiskWorld } from './process-disk.ts'
import type { RecordPlatters } from './record-platters.ts'

/** `mayChange` throws once another hub has the store. */
export function playedRecords(
  platters: RecordPlatters,
  host: Host,
  world: DiskWorld,
  mayChange: () => void,
): RecordStore {
  const turns = createTurns()
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
  const held = (kind: string): HeldRecords => ({
    get: (id) => store.get(kind, id),
    list: () => store.list(kind),
    put: (id, body) => written(kind, id, (to) => to.put(kind, id, body)),
    remove: (id) => written(kind, id, (to) => to.remove(kind, id)),
    setAside: (id, reason) => written(kind, id, (to) => to.setAside(kind, id, reason)),
  })
  const folders = new Map<string, HeldRecords>()
  const folderOf = (kind: string): HeldRecords => {
    const sync = async () => {
      const settle = platters.settling(kind)
      await synced()
      settle()
    }
    const folder = folders.get(kind) ?? settledRecords(held(kind), sync)
    folders.set(kind, folder)
    return folder
  }
  return {
    list: async (kind) => folderOf(kind).list(),
    get: async (kind, id) => turns.one(kind, id, () => folderOf(kind).get(id)),
    put(kind, id, body) {
      const copy = structuredClone(body)
      return turns.one(kind, id, () => folderOf(kind).put(id, copy))
    },
    remove: async (kind, id) => turns.one(kind, id, () => folderOf(kind).remove(id)),
    setAside: (kind, id, reason) => turns.one(kind, id, () => folderOf(kind).setAside(id, reason)),
    exclusive: async (kind, work) => turns.alone(kind, () => heldInOrder(folderOf(kind), work)),
  }
}
