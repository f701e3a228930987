import { describe, expect, test } from 'vitest'
import type { Epoch } from '../../../../src/storage/file/journal/fencing-epoch.ts'
import type { SegmentFile } from '../../../../src/storage/file/journal/segments.ts'
import { SignalIndex } from '../../../../src/storage/file/signals/index/signal-index.ts'
import { openFileSignalStore } from '../../../../src/storage/file/signals/signal-store.ts'
import { loadSnapshot, takeSnapshot, writeSnapshot } from '../../../../src/storage/file/signals/snapshot.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { eventually } from '../../../support/eventually.ts'
import { MemoryDisk } from '../../../support/disk/memory-disk.ts'
import { DAY_MS, signalMaker } from '../../../support/signals.ts'
import { stateOf } from '../../../support/store-state.ts'

const SNAPSHOT = '/hub/snapshot/index.bin'
const SEGMENT = '/hub/journal/0000000001.jsonl'

async function closedHome() {
  const clock = fakeClock()
  const make = signalMaker(clock)
  const disk = new MemoryDisk()
  const open = (disk: MemoryDisk) => openFileSignalStore({ directory: '/hub', clock, disk })
  const store = await open(disk)
  const signals = Array.from({ length: 50 }, (_, place) =>
    make.signal({
      payload: place,
      priority: place % 4,
      ...(place % 3 === 0 ? { idempotency_key: `k${place}`, to_session: 's' } : {}),
    }),
  )
  await store.appendAll(signals)
  await store.drain('bob', { ...make.lease(), limit: 3, now: make.at() })
  const late = make.lease()
  await store.drain('bob', { ...late, limit: 3, now: make.at() })
  await store.release(late.drain_id)
  await store.complete('bob', [signals[0]!.signal_id], { done: true }, make.at())
  store.mark([signals[1]!.signal_id], 'seen_at', make.at(-5))
  await store.expire(make.at())
  const state = await stateOf(store)
  await store.close()
  return { clock, make, disk, open, late, state: { ...state, health: { ...state.health } } }
}

describe('the index snapshot', () => {
  test('a snapshot saves a restart from reading the journal', async () => {
    const { disk, open, state } = await closedHome()
    const bytes = { read: 0, all: disk.content(SEGMENT).length }
    disk.onRead = (name, count) => void (name === SEGMENT && (bytes.read += count))
    const store = await open(disk)
    expect(store.health()).toEqual(state.health)
    // The first line is read twice, together with some of the data after it.
    expect(bytes.read).toBeLessThanOrEqual(2 * 4096)
    expect(bytes.all).toBeGreaterThan(8192)
  })

  test('a snapshot does not hide that the journal was changed', async () => {
    const { disk, open } = await closedHome()
    const journal = disk.content(SEGMENT)
    journal[200] = (journal[200] as number) ^ 1
    disk.put(SEGMENT, journal)
    await expect(open(disk)).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringMatching(/0000000001\.jsonl at byte \d+/) as string,
    })
  })

  test('a snapshot does not hide damage in a segment that has grown', async () => {
    const clock = fakeClock()
    const make = signalMaker(clock)
    const disk = new MemoryDisk()
    const options = { directory: '/hub', clock, segment_bytes_max: 4000 }
    const store = await openFileSignalStore({ ...options, disk })
    await eventually('a snapshot while running', async () => {
      await store.append(make.signal())
      return disk.names().includes(SNAPSHOT)
    })
    await store.append(make.signal())
    const killed = disk.afterKill()
    const [last] = killed
      .names()
      .filter((name) => name.endsWith('.jsonl'))
      .toReversed()
    const journal = killed.content(last!)
    journal[200] = (journal[200] as number) ^ 1
    killed.put(last!, journal)
    await expect(openFileSignalStore({ ...options, disk: killed })).rejects.toMatchObject({
      code: 'store_damaged',
    })
  })

  test('a snapshot contains everything that the journal contains', async () => {
    const { disk, open, state, late, make } = await closedHome()
    const store = await open(disk)
    expect(await stateOf(store)).toEqual(state)
    expect(store.findByKey('ada', 'k3')).not.toBeNull()
    expect((await store.confirm(late.drain_id, make.at())).confirmed).toHaveLength(3)
    expect(store.findByKey('ada', 'k6')).not.toBeNull()
    expect(store.pendingCount('bob', ['s'])).toBeLessThan(store.pendingCount('bob'))
    expect((await store.expire(make.at(DAY_MS))).expired).not.toEqual([])
  })

  test('the journal replaces a missing snapshot', async () => {
    const { disk, open, state } = await closedHome()
    disk.remove(SNAPSHOT)
    expect(await stateOf(await open(disk))).toEqual(state)
  })

  test('a snapshot with any wrong byte is ignored', async () => {
    const { disk, open, state } = await closedHome()
    const snapshot = disk.content(SNAPSHOT)
    const places = [0, 5, 40, 300, snapshot.length >> 1, snapshot.length - 30, snapshot.length - 2]
    for (const place of places) {
      const again = disk.afterKill()
      const wrong = Buffer.from(snapshot)
      wrong[place] = (wrong[place] as number) ^ 1
      again.put(SNAPSHOT, wrong)
      expect(await stateOf(await open(again))).toEqual(state)
    }
    for (const length of [0, 1, 100, snapshot.length - 1]) {
      const again = disk.afterKill()
      again.put(SNAPSHOT, snapshot.subarray(0, length))
      expect(await stateOf(await open(again))).toEqual(state)
    }
  })

  const FACTS: [string, boolean, (segments: SegmentFile[]) => SegmentFile[]][] = [
    ['the same segments', true, (same) => same],
    ['more bytes in the last one', true, ([one, two]) => [one!, { ...two!, bytes: 900, changed_at: 7 }]],
    ['fewer bytes in the last one', false, ([one, two]) => [one!, { ...two!, bytes: 499 }]],
    [
      'the last one compacted, with more bytes and the same epoch',
      false,
      ([one, two]) => [one!, { ...two!, bytes: 900, changed_at: 7, head: { ...two!.head!, revision: 1 } }],
    ],
    [
      'the last one of another epoch',
      false,
      ([one, two]) => [one!, { ...two!, bytes: 900, head: { ...two!.head!, epoch: 4 } }],
    ],
    [
      'an earlier one compacted, with the same bytes and time',
      false,
      ([one, two]) => [{ ...one!, head: { ...one!.head!, revision: 1 } }, two!],
    ],
    ['other bytes in an earlier one', false, ([one, two]) => [{ ...one!, bytes: 1_001 }, two!]],
    ['another time of an earlier one', false, ([one, two]) => [{ ...one!, changed_at: 7 }, two!]],
    ['an earlier one missing', false, ([, two]) => [two!]],
    ['one more before them', false, ([one, two]) => [{ ...one!, segment: 0 }, one!, two!]],
    ['one more after them', true, ([one, two]) => [one!, two!, { ...two!, segment: 3 }]],
  ]
  test.each(FACTS)('a snapshot of a journal with %s is used: %s', async (_, used, change) => {
    const disk = new MemoryDisk()
    const clock = fakeClock()
    const segmentFile = (segment: number, bytes: number): SegmentFile => ({
      ...{ file: `/hub/journal/${segment}.jsonl`, segment, bytes, changed_at: 5 },
      head: {
        ...{ kind: 'segment', version: 1, segment, first: segment, revision: 0, epoch: 3 },
        ...{ follows: null, last_seq: 0, last_signal_id: null },
      },
    })
    const segments = [segmentFile(1, 1_000), segmentFile(2, 500)]
    const pieces = takeSnapshot(new SignalIndex(), { segment: 2, bytes: 500 }, segments)
    const epoch = { number: 3, check() {} } as unknown as Epoch
    await writeSnapshot({ disk, clock, epoch, directory: '/hub/snapshot', stopping: () => false }, pieces)
    expect(loadSnapshot(disk, '/hub/snapshot', change(segments)) !== null).toBe(used)
  })

  test("a snapshot older than the journal is brought up to date from the journal's tail", async () => {
    const { disk, open, make } = await closedHome()
    const store = await open(disk)
    await store.appendAll([make.signal(), make.signal({ to: 'carl' })])
    const state = await stateOf(store)
    const killed = disk.afterKill()
    expect(await stateOf(await open(killed))).toEqual(state)
  })
})
