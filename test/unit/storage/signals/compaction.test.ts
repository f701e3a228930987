import { describe, expect, test } from 'vitest'
import type { Signal } from '../../../../src/contracts/signal.ts'
import {
  openFileSignalStore,
  type FileSignalStoreOptions,
} from '../../../../src/storage/file/signals/signal-store.ts'
import { PAGE_ROWS } from '../../../../src/storage/file/signals/index/signal-rows.ts'
import { eventually } from '../../../support/eventually.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { MemoryDisk, systemError } from '../../../support/disk/memory-disk.ts'
import { RETENTION } from '../../../../src/storage/retention.ts'
import { DAY_MS, signalMaker } from '../../../support/signals.ts'
import { stateOf } from '../../../support/store-state.ts'

const clock = fakeClock()
const make = signalMaker(clock)
/** Late enough that all signals finished now may be forgotten. */
const LATER = 8 * DAY_MS

function open(disk: MemoryDisk, more: Partial<FileSignalStoreOptions> = {}) {
  return openFileSignalStore({ directory: '/hub', clock, disk, segment_bytes_max: 4000, ...more })
}

const journal = (disk: MemoryDisk) => disk.names().filter((name) => name.endsWith('.jsonl'))
const text = (disk: MemoryDisk) =>
  journal(disk)
    .map((name) => disk.content(name).toString())
    .join('')

/** Signals whose payload is their position; of every four the first stays, the others are completed. */
async function workedHome(count: number) {
  const disk = new MemoryDisk()
  const store = await open(disk)
  const signals: Signal[] = []
  for (let place = 0; place < count; place += 1) {
    const signal = make.signal({ payload: place, expires_at: make.at(50 * DAY_MS) })
    signals.push(signal)
    await store.append(signal)
    if (place % 4 !== 0) await store.complete('bob', [signal.signal_id], { done: place }, make.at())
  }
  const kept = signals.filter((_, place) => place % 4 === 0)
  return { disk, store, signals, kept }
}

describe('compaction', () => {
  test('compaction removes forgotten signals and all their changes from the journal', async () => {
    const { disk, store, signals, kept } = await workedHome(60)
    const before = text(disk).length
    expect(await store.compact(make.at(LATER))).toEqual({ forgotten: 45 })
    const state = await stateOf(store)
    expect(text(disk).length).toBeLessThan(before / 2)
    // The newest segment is not rewritten.
    const active = disk.content(journal(disk).at(-1)!).toString()
    for (const signal of signals) {
      if (kept.includes(signal) || active.includes(signal.signal_id)) continue
      expect(text(disk)).not.toContain(`,"signal_id":"${signal.signal_id}"`)
      expect(text(disk)).not.toContain(`["${signal.signal_id}"]`)
    }
    expect((await store.readPending('bob', 100)).map(({ signal }) => signal)).toEqual(kept)
    const killed = disk.afterKill()
    expect(await stateOf(await open(killed))).toEqual(state)
    killed.remove('/hub/snapshot/index.bin')
    expect(await stateOf(await open(killed))).toEqual(state)
  })

  type Line = 'lease' | 'confirm' | 'release' | 'dead' | 'complete' | 'replay' | 'expire' | 'told'
  test.each<Line>(['lease', 'confirm', 'release', 'dead', 'complete', 'replay', 'expire', 'told'])(
    'compaction keeps a line of several signals while one of them is kept: %s',
    async (line) => {
      const disk = new MemoryDisk()
      const retention = { ...RETENTION, idempotency_window_ms: 30 * DAY_MS }
      const store = await open(disk, { retention })
      const expires_at = make.at(line === 'expire' ? 1 : 50 * DAY_MS)
      const all = [make.signal({ expires_at }), make.signal({ expires_at, idempotency_key: `kept ${line}` })]
      await store.appendAll(all)
      const ids = all.map(({ signal_id }) => signal_id)
      const drain = async () => {
        const lease = make.lease()
        await store.drain('bob', { ...lease, limit: 2, now: make.at() })
        return lease.drain_id
      }
      if (line === 'lease') await drain()
      if (line === 'release') await store.release(await drain())
      if (line === 'dead')
        for (let times = 0; times <= RETENTION.deliveries_max; times += 1) await store.release(await drain())
      if (line === 'confirm' || line === 'told') await store.confirm(await drain(), make.at())
      if (line === 'told') await store.markNotified(ids)
      if (line === 'complete' || line === 'replay')
        await store.complete('bob', ids, { done: true }, make.at())
      if (line === 'replay') for (const id of ids) await store.replay(id, make.at())
      if (line === 'expire') await store.expire(make.at(1))
      // The first one is finished, and all finished signals are forgotten.
      if (line !== 'expire') await store.complete('bob', [ids[0]!], undefined, make.at())
      for (let place = 0; place < 40; place += 1) {
        const signal = make.signal({ payload: 'x'.repeat(400) })
        await store.append(signal)
        await store.complete('bob', [signal.signal_id], undefined, make.at())
      }
      await store.compact(make.at(LATER))
      expect(text(disk)).not.toContain(`,"signal_id":"${ids[0]}"`)
      expect(text(disk)).toContain(`,"signal_id":"${ids[1]}"`)
      const state = await stateOf(store)
      const killed = disk.afterKill()
      killed.remove('/hub/snapshot/index.bin')
      expect(await stateOf(await open(killed, { retention }))).toEqual(state)
    },
  )

  test('compaction joins small segments and does not change the newest one', async () => {
    const { disk, store } = await workedHome(60)
    const before = journal(disk)
    const newest = disk.content(before.at(-1)!).toString()
    await store.compact(make.at(LATER))
    const after = journal(disk)
    expect(after.length).toBeLessThan(before.length / 2)
    expect(after.at(-1)).toBe(before.at(-1))
    expect(disk.content(after.at(-1)!).toString().startsWith(newest)).toBe(true)
    const [head] = disk.content(after[0]!).toString().split('\n')
    expect(JSON.parse(head!)).toMatchObject({ kind: 'segment', first: 1, revision: 1, follows: null })
  })

  test('results of kept signals are readable after compaction moved them', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const old: string[] = []
    for (let place = 0; place < 30; place += 1) {
      const signal = make.signal({ payload: 'old' })
      old.push(signal.signal_id)
      await store.append(signal)
    }
    const recent = make.signal({ expires_at: make.at(50 * DAY_MS) })
    await store.append(recent)
    await store.complete('bob', old, 'an old result', make.at())
    await store.complete('bob', [recent.signal_id], { result: 'recent' }, make.at(LATER))
    await store.appendAll(Array.from({ length: 12 }, () => make.signal({ to: 'carl' })))
    await store.append(make.signal({ to: 'carl' }))
    expect(await store.compact(make.at(LATER))).toEqual({ forgotten: 30 })
    expect(text(disk)).not.toContain('an old result')
    expect(await store.read(recent.signal_id)).toMatchObject({ result: { result: 'recent' } })
    const killed = disk.afterKill()
    killed.remove('/hub/snapshot/index.bin')
    expect(await (await open(killed)).read(recent.signal_id)).toMatchObject({ result: { result: 'recent' } })
  })

  test("compaction by a hub that lost the journal does not change its successor's files", async () => {
    const { disk, store: former } = await workedHome(60)
    const drafts = () => disk.names().filter((name) => name.endsWith('.new'))
    /** Runs a compaction up to the sync of its rewritten segment. */
    const begin = async (store: typeof former) => {
      disk.held = []
      const done = store.compact(make.at(LATER)).then(
        () => 'done',
        (error: Error) => error.message,
      )
      await eventually('the draft waits for its sync', () => {
        // Forgotten signals are recorded before any segment is rewritten.
        if (drafts().length === 0) for (const finish of disk.held?.splice(0) ?? []) finish()
        return drafts().length > 0 && disk.held?.length === 1
      })
      const [finish] = disk.held as [() => void]
      disk.held = null
      return { done, finish }
    }
    const of_former = await begin(former)
    const successor = await open(disk)
    const of_successor = await begin(successor)
    of_former.finish()
    expect(await of_former.done).toContain('another hub has taken the journal')
    of_successor.finish()
    expect(await of_successor.done).toBe('done')
    expect(drafts()).toEqual([])
    await successor.close()
  })

  test('compaction does nothing while less than half of the sealed bytes are wasted', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const signals = Array.from({ length: 60 }, () => make.signal({ expires_at: make.at(50 * DAY_MS) }))
    for (const signal of signals) await store.append(signal)
    const some = signals.slice(0, 20).map(({ signal_id }) => signal_id)
    await store.complete('bob', some, undefined, make.at())
    const before = journal(disk)
    expect(await store.compact(make.at(LATER))).toEqual({ forgotten: 20 })
    expect(journal(disk)).toEqual(before)
    expect(text(disk)).toContain(some[0])
    const more = signals.slice(20, 35).map(({ signal_id }) => signal_id)
    await store.complete('bob', more, undefined, make.at())
    expect(await store.compact(make.at(LATER))).toEqual({ forgotten: 15 })
    expect(text(disk)).not.toContain(`"seq":1,`)
  })

  test('compaction joins the many small segments that restarts leave', async () => {
    const disk = new MemoryDisk()
    for (let restart = 0; restart < 25; restart += 1) {
      const store = await open(disk)
      await store.append(make.signal({ expires_at: make.at(50 * DAY_MS) }))
      await store.close()
    }
    expect(journal(disk)).toHaveLength(25)
    const store = await open(disk)
    const state = await stateOf(store)
    await store.compact(make.at())
    expect(journal(disk).length).toBeLessThan(6)
    expect(await stateOf(store)).toEqual(state)
    expect(await stateOf(await open(disk.afterKill()))).toEqual(state)
  })

  test('signals can be appended and drained during compaction', async () => {
    const { disk, store, kept } = await workedHome(80)
    const compacting = store.compact(make.at(LATER))
    const added: Signal[] = []
    for (let turn = 0; turn < 30; turn += 1) {
      const signal = make.signal({ payload: `during ${turn}` })
      added.push(signal)
      await store.append(signal)
      const [drained] = await store.drain('bob', { ...make.lease(), limit: 1, now: make.at() })
      await store.complete('bob', [drained!.signal.signal_id], { turn }, make.at(LATER))
      await store.read(kept[0]!.signal_id)
    }
    await compacting
    const state = await stateOf(store)
    expect(state.health).toMatchObject({ signals: kept.length + added.length })
    const killed = disk.afterKill()
    killed.remove('/hub/snapshot/index.bin')
    expect(await stateOf(await open(killed))).toEqual(state)
  })

  test('compaction without free space changes nothing, and the store continues', async () => {
    const { disk, store } = await workedHome(40)
    disk.fault = (operation, name) =>
      operation === 'write' && name.endsWith('.new') ? systemError('ENOSPC') : null
    await expect(store.compact(make.at(LATER))).rejects.toMatchObject({
      code: 'store_unavailable',
      detail: expect.stringContaining('compaction failed') as string,
    })
    expect(disk.names().filter((name) => name.endsWith('.new'))).toEqual([])
    await store.append(make.signal())
    disk.fault = () => null
    expect(await store.compact(make.at(LATER))).toEqual({ forgotten: 0 })
    const state = await stateOf(store)
    expect(await stateOf(await open(disk.afterKill()))).toEqual(state)
    expect(text(disk)).not.toContain('"seq":2,')
  })

  test.each([
    ['remove', 1],
    ['remove', 2],
    ['syncDirectory', 1],
  ] as const)(
    'compaction whose %s number %i fails after the new file exists leaves no file that the next start takes for a segment',
    async (failing, nth) => {
      const disk = new MemoryDisk()
      // Each start creates a segment.
      for (let start = 0; start < 20; start += 1) {
        const store = await openFileSignalStore({ directory: '/hub', clock, disk })
        const to = `reader-${start}`
        await store.append(make.signal({ to, expires_at: make.at(50 * DAY_MS) }))
        const lease = make.lease()
        await store.drain(to, { ...lease, limit: 1, now: make.at() })
        await store.release(lease.drain_id)
        await store.close()
      }
      const store = await openFileSignalStore({ directory: '/hub', clock, disk })
      let seen: number | null = null
      disk.fault = (operation, name) => {
        if (operation === 'rename' && name.includes('/journal/')) seen ??= 0
        if (seen !== null && operation === failing) seen += 1
        return seen === nth && operation === failing ? systemError('EIO') : null
      }
      await expect(store.compact(make.at())).rejects.toMatchObject({ code: 'store_unavailable' })
      const operations: string[] = []
      disk.fault = (operation) => {
        operations.push(operation)
        return null
      }
      const left = journal(disk)
      await store.compact(make.at())
      expect(journal(disk).length).toBeLessThan(left.length)
      // The new name is durable before an old one is removed.
      expect(operations.slice(0, operations.indexOf('remove'))).toContain('syncDirectory')
      const state = await stateOf(store)
      const killed = disk.afterKill()
      expect(await stateOf(await openFileSignalStore({ directory: '/hub', clock, disk: killed }))).toEqual(
        state,
      )
    },
  )

  test('compaction does not change a file that is shorter than its successor recorded', async () => {
    const { disk, store } = await workedHome(60)
    const shortened = journal(disk)[1]!
    disk.put(shortened, disk.content(shortened).subarray(0, -200))
    await expect(store.compact(make.at(LATER))).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringContaining(shortened) as string,
    })
  })

  test("compaction keeps the only record of the journal's end while the next segment is not durable", async () => {
    const disk = new MemoryDisk()
    const former = await open(disk)
    for (let place = 0; place < 3; place += 1) {
      const signal = make.signal()
      await former.append(signal)
      await former.complete('bob', [signal.signal_id], undefined, make.at())
    }
    await former.compact(make.at(LATER))
    await former.close()
    const store = await open(disk)
    expect(store.health()).toMatchObject({ signals: 0, last_seq: 3 })
    const next = journal(disk)[0]!.replace('1.jsonl', '2.jsonl')
    const [opened, sync] = [disk.open.bind(disk), disk.sync.bind(disk)]
    let fd_of_next: number | null = null
    let begun = false
    disk.open = (name, how) => {
      const fd = opened(name, how)
      if (name === next) fd_of_next = fd
      return fd
    }
    disk.sync = (fd, done) => (fd === fd_of_next ? void (begun = true) : sync(fd, done))
    void store.append(make.signal()).catch(() => undefined)
    await eventually('the next file is begun', () => begun)
    let looked = false
    let rewrites = false
    disk.fault = (operation, name) => {
      looked ||= operation === 'list'
      rewrites ||= operation === 'open' && name.endsWith('.new')
      return null
    }
    // Continues once the next file is on disk, and rewrites nothing before.
    void store.compact(make.at(LATER)).catch(() => undefined)
    await eventually('it has seen what there is', () => looked)
    await atRest()
    expect(rewrites).toBe(false)
    let asked = 0
    // Its name survives, but none of its contents.
    const cut = disk.afterPowerCut((most) => (asked++ === 0 ? most : 0))
    expect((await open(cut)).health()).toMatchObject({ last_seq: 3 })
  })

  test('compaction of files that a successor has compacted reports store_fenced', async () => {
    const { disk, store: successor_to_be } = await workedHome(60)
    await successor_to_be.close()
    const waiting: (() => void)[] = []
    let stands_still = false
    const former = await open(disk, {
      clock: { ...clock, soon: (call) => (stands_still ? void waiting.push(call) : clock.soon(call)) },
    })
    disk.fault = (operation, name) => {
      stands_still ||= operation === 'open' && name.endsWith('.new')
      return null
    }
    const compacting = former.compact(make.at(LATER)).catch((error: unknown) => error)
    await eventually('it stands still between two files', () => waiting.length > 0)
    disk.fault = () => null
    const successor = await open(disk)
    await successor.compact(make.at(LATER))
    stands_still = false
    for (const call of waiting) call()
    expect(await compacting).toMatchObject({ code: 'store_fenced' })
    await successor.close()
  })

  test('compaction copies nothing that a former owner wrote after the takeover', async () => {
    const disk = new MemoryDisk()
    const former = await open(disk)
    const stays = make.signal({ expires_at: make.at(50 * DAY_MS) })
    await former.append(stays)
    for (let place = 0; place < 3; place += 1) {
      const over = make.signal({ expires_at: make.at(50 * DAY_MS) })
      await former.append(over)
      await former.complete('bob', [over.signal_id], undefined, make.at())
    }
    let taking: ReturnType<typeof open> | null = null
    disk.fault = (operation, name) => {
      if (operation !== 'write' || !name.endsWith('.jsonl')) return null
      // It has checked the owner of the journal, and is suspended before it writes.
      disk.fault = () => null
      taking = open(disk)
      return null
    }
    await expect(former.complete('bob', [stays.signal_id], undefined, make.at())).rejects.toMatchObject({
      code: 'store_fenced',
    })
    const successor = await taking!
    await successor.append(make.signal({ expires_at: make.at(50 * DAY_MS) }))
    await successor.compact(make.at(LATER))
    await successor.close()
    disk.remove('/hub/snapshot/index.bin')
    expect(await (await open(disk)).read(stays.signal_id)).toMatchObject({ status: 'pending' })
  })

  test('snapshots are due by the size of the journal, not by all bytes ever written', async () => {
    const { disk, store } = await workedHome(400)
    const ever = text(disk).length
    await store.compact(make.at(LATER))
    const before = disk.content('/hub/snapshot/index.bin')
    const standing = text(disk).length
    for (let bytes = standing; bytes < 2 * standing; bytes = text(disk).length)
      await store.append(make.signal())
    expect(text(disk).length).toBeLessThan(ever)
    await eventually(
      'a snapshot of the new size',
      () => !disk.content('/hub/snapshot/index.bin').equals(before),
    )
  })

  test('compaction stops at once when the store is closed', async () => {
    const { disk, store } = await workedHome(80)
    const compacting = store.compact(make.at(LATER))
    const closing = store.close()
    await Promise.allSettled([compacting, closing])
    await closing
    expect(disk.names().filter((name) => name.endsWith('.new'))).toEqual([])
    expect((await open(disk)).health().signals).toBe(20)
  })

  test('compaction releases the memory of forgotten signals', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk, { segment_bytes_max: 200_000 })
    const ids: string[] = []
    for (let batch = 0; batch < 3; batch += 1) {
      const signals = Array.from({ length: PAGE_ROWS }, () => make.signal())
      await store.appendAll(signals)
      ids.push(...signals.map(({ signal_id }) => signal_id))
    }
    await store.complete('bob', ids, undefined, make.at())
    await store.compact(make.at(LATER))
    await store.append(make.signal())
    await store.close()
    const sizes = disk.content('/hub/snapshot/index.bin').length
    // Two of the three pages and most of the hash table's entries are freed.
    expect(sizes).toBeLessThan(1.7 * PAGE_ROWS * 90)
    expect((await open(disk)).health()).toMatchObject({ signals: 1, last_seq: 3 * PAGE_ROWS + 1 })
  })
})
