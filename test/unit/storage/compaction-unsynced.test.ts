/** Tests compaction while changes are being synced and may be lost. */
import { describe, expect, test } from 'vitest'
import { openFileSignalStore } from '../../../src/storage/file/signals/signal-store.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { MemoryDisk, systemError } from '../../support/disk/memory-disk.ts'
import { DAY_MS, signalMaker } from '../../support/signals.ts'

const clock = fakeClock()
const make = signalMaker(clock)
/** Late enough that all signals finished now may be forgotten. */
const LATER = 8 * DAY_MS
const LONG = { expires_at: make.at(50 * DAY_MS) }
const open = (disk: MemoryDisk) =>
  openFileSignalStore({ directory: '/hub', clock, disk, segment_bytes_max: 4000 })

/** Returns a store with forty completed signals in several segments. */
async function worked() {
  const disk = new MemoryDisk()
  const store = await open(disk)
  const work = async () => {
    for (let place = 0; place < 40; place += 1) {
      const { signal_id } = await store.append(make.signal(LONG))
      await store.complete('bob', [signal_id], undefined, make.at())
    }
  }
  return { disk, store, work }
}

describe('compaction and unsynced changes', () => {
  test('compaction updates the result location of a signal whose replay may still be lost', async () => {
    const { disk, store, work } = await worked()
    const { signal_id } = await store.append(make.signal(LONG))
    await store.complete('bob', [signal_id], { done: 'late' }, make.at(LATER))
    await work()
    const [opened, sync] = [disk.open.bind(disk), disk.sync.bind(disk)]
    const drafts = new Set<number>()
    const held: { succeed: () => void; fail: () => void }[] = []
    let is_synced = false
    let is_in_place = false
    disk.open = (name, how) => {
      const fd = opened(name, how)
      if (!name.endsWith('.new')) return fd
      // The compaction waits for this one.
      if (drafts.size === 0) void store.append(make.signal(LONG)).catch(() => undefined)
      drafts.add(fd)
      return fd
    }
    disk.sync = (fd, done) => {
      if (drafts.has(fd)) is_synced = true
      if (drafts.size === 0 || drafts.has(fd)) return sync(fd, done)
      held.push({ succeed: () => sync(fd, done), fail: () => done(systemError('EIO')) })
    }
    disk.fault = (operation, name) => {
      is_in_place ||= operation === 'rename' && name.includes('/journal/')
      return null
    }
    const compacting = store.compact(make.at(LATER)).catch(() => undefined)
    await eventually('the new file is synced', () => is_synced && held.length === 1)
    const refused = store.replay(signal_id, make.at(LATER)).catch((error: unknown) => error)
    held.shift()?.succeed()
    await eventually('the new file stands, and the replay is written', () => is_in_place && held.length === 1)
    held.shift()?.fail()
    expect(await refused).toMatchObject({ code: 'store_unavailable' })
    await compacting
    expect(await store.read(signal_id)).toMatchObject({ status: 'completed', result: { done: 'late' } })
  })

  test('compaction keeps a signal whose forgotten expiry is not durable yet', async () => {
    const { disk, store, work } = await worked()
    const late = await store.append(make.signal({ expires_at: make.at(1) }))
    await work()
    const [opened, sync] = [disk.open.bind(disk), disk.sync.bind(disk)]
    const drafts = new Set<number>()
    const changes: Promise<unknown>[] = []
    const held: (() => void)[] = []
    disk.open = (name, how) => {
      const fd = opened(name, how)
      if (!name.endsWith('.new')) return fd
      if (drafts.size === 0) changes.push(store.expire(make.at(LATER)), store.compact(make.at(LATER)))
      drafts.add(fd)
      return fd
    }
    disk.sync = (fd, done) =>
      drafts.size === 0 || drafts.has(fd) ? sync(fd, done) : void held.push(() => sync(fd, done))
    changes.push(store.compact(make.at(LATER)))
    // Unsynced data is lost.
    const lookAfterPowerCut = async () => {
      const left = await open(disk.afterPowerCut(() => 0))
      return (await left.read(late.signal_id))?.status ?? null
    }
    await eventually('the expiry is written', () => held.length > 0)
    for (let tick = 0; tick < 50; tick += 1) await new Promise<void>((resolve) => setImmediate(resolve))
    expect(await lookAfterPowerCut()).toBe('pending')
    disk.sync = sync
    for (const finish of held) finish()
    await Promise.all(changes)
    expect(await lookAfterPowerCut()).toBeNull()
  })
})
