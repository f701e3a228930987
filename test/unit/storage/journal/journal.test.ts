/** Tests the journal's disk operations: number of syncs, new segments, and the effects of failures. */
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import {
  openFileSignalStore,
  type FileSignalStoreOptions,
} from '../../../../src/storage/file/signals/signal-store.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { MemoryDisk, systemError, type Operation } from '../../../support/disk/memory-disk.ts'
import { DAY_MS, signalMaker } from '../../../support/signals.ts'
import { stateOf } from '../../../support/store-state.ts'

const clock = fakeClock()
const make = signalMaker(clock)
const many = (count: number) => Array.from({ length: count }, () => make.signal())

function open(disk: MemoryDisk, more: Partial<FileSignalStoreOptions> = {}) {
  return openFileSignalStore({ directory: '/hub', clock, disk, ...more })
}

function journalFiles(disk: MemoryDisk): string[] {
  return disk.names().filter((name) => name.endsWith('.jsonl'))
}

describe('group commit', () => {
  test('a hundred concurrent appends share one write and one sync', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    await atRest()
    const before = { ...disk.counts }
    await Promise.all(many(100).map((signal) => store.append(signal)))
    expect(disk.counts.sync! - before.sync!).toBe(1)
    expect(disk.counts.write! - before.write!).toBe(1)
  })

  test('a hundred senders that each wait for their confirmation need one sync per round', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const rounds = 20
    const before = disk.counts.sync ?? 0
    await Promise.all(
      many(100).map(async () => {
        for (let round = 0; round < rounds; round += 1) await store.append(make.signal())
      }),
    )
    expect(disk.counts.sync! - before).toBeLessThanOrEqual(rounds + 1)
  })

  test('lines added during a sync share the next commit', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    disk.held = []
    const first = store.append(make.signal())
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(disk.held).toHaveLength(1)
    const written = disk.counts.write
    const others = many(10).map((signal) => store.append(signal))
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(disk.counts.write).toBe(written)
    let settled = 0
    for (const append of [first, ...others]) void append.then(() => (settled += 1))
    await new Promise<void>((resolve) => setImmediate(resolve))
    // Written but not synced, so nothing is confirmed.
    expect(settled).toBe(0)
    disk.releaseSyncs()
    await Promise.all([first, ...others])
    expect(disk.counts.write).toBe(written! + 1)
  })

  test('a commit is limited in size and never splits a group of signals', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk, { commit_bytes_max: 3000 })
    await store.append(make.signal())
    const before = disk.counts.sync!
    const appends = many(20).map((signal) => store.append({ ...signal, payload: 'x'.repeat(700) }))
    await Promise.all(appends)
    expect(disk.counts.sync! - before).toBeGreaterThanOrEqual(5)
    const together = disk.counts.sync!
    await store.appendAll(many(20).map((signal) => ({ ...signal, payload: 'x'.repeat(700) })))
    expect(disk.counts.sync! - together).toBe(1)
  })

  test('stage marks are written with the next commit and cause no sync', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const [signal] = many(1)
    await store.append(signal!)
    await atRest()
    const before = disk.counts.sync
    for (let count = 0; count < 10; count += 1) store.mark([signal!.signal_id], 'pushed_at', make.at())
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(disk.counts.sync).toBe(before)
    await store.append(make.signal())
    expect(disk.counts.sync).toBe(before! + 1)
    expect(await (await open(disk.afterKill())).read(signal!.signal_id)).toMatchObject({
      stages: { pushed_at: make.at() },
    })
  })

  test('a short write is continued', async () => {
    const disk = new MemoryDisk()
    disk.write_bytes_max = 7
    const store = await open(disk)
    await Promise.all(many(3).map((signal) => store.append(signal)))
    expect((await open(disk.afterKill())).health().signals).toBe(3)
  })

  test('a signal of any size is stored', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const signals = [
      make.signal({ payload: 'ü'.repeat(100_000) }),
      make.signal({ payload: '\u0000'.repeat(60_000) }),
      make.signal({ payload: '🔔'.repeat(600_000) }),
    ]
    await Promise.all(signals.map((signal) => store.append(signal)))
    const reopened = await open(disk.afterKill())
    expect((await reopened.readPending('bob', 10)).map(({ signal }) => signal)).toEqual(signals)
  })
})

describe('segments', () => {
  test('segments rotate at their size limit and form a chain', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk, { segment_bytes_max: 2000 })
    for (const signal of many(30)) await store.append(signal)
    const files = journalFiles(disk)
    expect(files.length).toBeGreaterThan(3)
    for (const file of files) expect(disk.content(file).length).toBeLessThan(3000)
    const heads = files.map(
      (file) => JSON.parse(disk.content(file).toString().split('\n')[0]!) as Record<string, unknown>,
    )
    for (const [place, head] of heads.entries()) {
      expect(head).toMatchObject({
        kind: 'segment',
        version: 1,
        segment: place + 1,
        epoch: 1,
        follows: place === 0 ? null : { segment: place, bytes: disk.content(files[place - 1]!).length },
      })
    }
  })

  test('every journal line is JSON, with the header before the payload', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal({ topic: 't', payload: { deep: [1] } }))
    await store.drain('bob', { ...make.lease(), limit: 1, now: make.at() })
    await store.close()
    const lines = disk.content(journalFiles(disk)[0]!).toString().trim().split('\n')
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(entries.map(({ kind }) => kind)).toEqual([
      'segment',
      'signal',
      'commit',
      'lease',
      'commit',
      'closed',
    ])
    expect(Object.keys(entries[1]!).slice(-2)).toEqual(['payload', 'crc'])
  })

  test('a restart without writes creates no segment', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    await store.close()
    for (let restart = 0; restart < 3; restart += 1) await (await open(disk)).close()
    expect(journalFiles(disk)).toHaveLength(1)
  })
})

describe('a failing disk', () => {
  const failures: [string, Operation, string][] = [
    ['a full disk', 'write', 'ENOSPC'],
    ['a write that fails', 'write', 'EIO'],
    ['a sync that fails', 'sync', 'EIO'],
    ['a file that cannot be made', 'open', 'EACCES'],
    ['a directory that cannot be synced', 'syncDirectory', 'EIO'],
    ['an epoch that cannot be read', 'readFile', 'EIO'],
  ]

  for (const [name, operation, code] of failures) {
    test(`${name} ends writing for good: nothing is confirmed any more`, async () => {
      const disk = new MemoryDisk()
      const fatal: TurnbellError[] = []
      const store = await open(disk, { onFatal: (error) => fatal.push(error), segment_bytes_max: 1500 })
      // Fills the segment, so that the next signal starts another one.
      for (const signal of many(2)) await store.append({ ...signal, payload: 'k'.repeat(800) })
      const state = await stateOf(store)
      disk.fault = (struck) => (struck === operation ? systemError(code) : null)
      const refused = many(8).map((signal) => store.append({ ...signal, payload: 'y'.repeat(400) }))
      for (const outcome of await Promise.allSettled(refused)) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'store_unavailable' } })
      }
      // The disk may work again, but its contents may differ from what was written.
      disk.fault = () => null
      await expect(store.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
      await expect(store.expire(make.at(9 * DAY_MS))).rejects.toMatchObject({ code: 'store_unavailable' })
      expect(fatal).toHaveLength(1)
      const { writable, reason } = store.health()
      expect(writable).toBe(false)
      expect(reason).toContain(code)
      if (code === 'ENOSPC') expect(fatal[0]?.hint).toContain('Make room')
      // A rejected change is not visible.
      expect({ ...(await stateOf(store)), health: null }).toEqual({ ...state, health: null })
      await store.close()
      const reopened = await open(disk)
      expect(await stateOf(reopened)).toEqual(state)
      expect((await reopened.append(make.signal())).seq).toBe(state.health.last_seq + 1)
    })
  }

  test('a partially written batch is truncated at once if the disk allows it', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    const [file] = journalFiles(disk)
    const length = disk.content(file!).length
    disk.write_bytes_max = 50
    let writes = 0
    disk.fault = (operation) => (operation === 'write' && ++writes > 1 ? systemError('ENOSPC') : null)
    await expect(store.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(disk.content(file!).length).toBe(length)
  })

  test('a partially written batch that could not be truncated is recognised at the next open', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    disk.write_bytes_max = 90
    let writes = 0
    disk.fault = (operation) =>
      (operation === 'write' && ++writes > 1) || operation === 'truncate' ? systemError('EIO') : null
    await expect(store.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    const notices: unknown[] = []
    const reopened = await open(disk.afterKill(), { onCut: (notice) => notices.push(notice) })
    expect(notices).toHaveLength(1)
    expect(reopened.health().signals).toBe(1)
  })

  test('an unreadable body fails only the call that reads it', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    disk.fault = (operation) => (operation === 'read' ? systemError('EIO') : null)
    await expect(store.readPending('bob', 1)).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(store.drain('bob', { ...make.lease(), limit: 1, now: make.at() })).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    await store.append(make.signal())
    disk.fault = () => null
    expect(await store.drain('bob', { ...make.lease(), limit: 9, now: make.at() })).toHaveLength(2)
  })

  test('a clock that steps back does not change the order of signals', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal({ payload: 'before' }))
    clock.setBack(3 * DAY_MS)
    await store.append(make.signal({ payload: 'after' }))
    const reopened = await open(disk.afterKill())
    expect((await reopened.readPending('bob', 9)).map(({ signal }) => signal.payload)).toEqual([
      'before',
      'after',
    ])
    clock.setBack(-3 * DAY_MS)
  })
})

describe('a store that lost its lock', () => {
  test('a fenced store stops at once, rejects pending commits and does not change the files', async () => {
    const disk = new MemoryDisk()
    const fatal: TurnbellError[] = []
    const store = await open(disk, { onFatal: (error) => fatal.push(error) })
    await store.append(make.signal())
    disk.held = []
    const underway = store.append(make.signal())
    await new Promise<void>((resolve) => setImmediate(resolve))
    const before = new Map(disk.names().map((name) => [name, disk.content(name)]))
    const error = new TurnbellError('store_fenced', { detail: 'taken' })
    store.fence(error)
    store.fence(error)
    await expect(underway).rejects.toBe(error)
    await expect(store.append(make.signal())).rejects.toBe(error)
    disk.releaseSyncs()
    await store.close()
    await store.close()
    expect(fatal).toEqual([error])
    for (const [name, content] of before) expect(disk.content(name)).toEqual(content)
    expect(disk.names()).not.toContain('/hub/snapshot/index.bin')
  })

  test.each(['append', 'appendAll'] as const)(
    'a key is not refused as reused when the signal that had it could not be kept, by %s',
    async (way) => {
      const disk = new MemoryDisk()
      const store = await open(disk)
      disk.fault = (operation) => (operation === 'sync' ? systemError('EIO') : null)
      const [first, other] = ['first', 'other'].map((payload) =>
        make.signal({ payload, idempotency_key: 'k' }),
      )
      const refusals = [
        store.append(first!),
        way === 'append' ? store.append(other!) : store.appendAll([other!]),
      ]
      expect(await Promise.allSettled(refusals)).toMatchObject([
        { status: 'rejected', reason: { code: 'store_unavailable' } },
        { status: 'rejected', reason: { code: 'store_unavailable' } },
      ])
    },
  )

  test('a store that lost its lock reports that also after a disk error, but not after its close', async () => {
    const disk = new MemoryDisk()
    const fatal: TurnbellError[] = []
    const store = await open(disk, { onFatal: (error) => fatal.push(error) })
    await store.append(make.signal())
    const state = await stateOf(store)
    disk.fault = (operation) => (operation === 'sync' ? systemError('EIO') : null)
    await expect(store.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    disk.fault = () => null
    store.checkOwned()
    const error = new TurnbellError('store_fenced', { detail: 'taken' })
    store.fence(error)
    store.fence(error)
    expect(fatal).toMatchObject([{ code: 'store_unavailable' }, error])
    expect(() => store.checkOwned()).toThrow(error)
    await expect(store.append(make.signal())).rejects.toBe(error)
    expect({ ...(await stateOf(store)), health: null }).toEqual({ ...state, health: null })
    await store.close()

    const closed = await open(disk, { onFatal: (failure) => fatal.push(failure) })
    await closed.close()
    disk.put('/hub/journal/epoch', Buffer.from('9\n'))
    expect(() => closed.checkOwned()).toThrow('store_fenced')
    closed.fence(error)
    expect(fatal).toHaveLength(2)
  })
})

describe('an invalid signal', () => {
  test('an invalid signal is rejected before any byte of its group is written', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    const [good] = many(1)
    for (const bad of [
      make.signal({ signal_id: 'not-a-ulid' }),
      make.signal({ created_at: 'yesterday' }),
      make.signal({ payload: circle as never }),
    ]) {
      await expect(store.appendAll([good!, bad])).rejects.toThrow()
      await expect(store.append(bad)).rejects.toThrow()
    }
    await store.append(good!)
    await expect(store.append(good!)).rejects.toThrow(/already stored/)
    expect(store.health()).toMatchObject({ signals: 1, last_seq: 1, writable: true })
    expect((await open(disk.afterKill())).health()).toMatchObject({ signals: 1, last_seq: 1 })
  })
})
