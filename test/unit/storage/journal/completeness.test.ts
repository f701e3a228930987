/** Tests that a journal without its end is rejected, and truncated only on request. */
import { describe, expect, test } from 'vitest'
import { giveUpLost } from '../../../../src/storage/file/signals/give-up.ts'
import { SEQ_GAP } from '../../../../src/storage/file/journal/high-water.ts'
import { repairJournal } from '../../../../src/storage/file/signals/repair.ts'
import { openFileSignalStore } from '../../../../src/storage/file/signals/signal-store.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { MemoryDisk } from '../../../support/disk/memory-disk.ts'
import { signalMaker } from '../../../support/signals.ts'

const JOURNAL = '/hub/journal'
const SNAPSHOT = '/hub/snapshot/index.bin'
const HIGH_WATER = '/hub/high-water.json'
const clock = fakeClock()
const make = signalMaker(clock)

const open = (disk: MemoryDisk, more: { segment_bytes_max?: number } = {}) =>
  openFileSignalStore({ directory: '/hub', clock, disk, ...more })

const segments = (disk: MemoryDisk) => disk.names().filter((name) => /\/\d{10}\.jsonl$/.test(name))

/**
 * Returns a home with three signals to bob and two to carl in several segments, one of bob's completed; stopped cleanly
 * or killed.
 */
async function home({ clean = true, segment_bytes_max = 900 } = {}) {
  const disk = new MemoryDisk()
  const store = await open(disk, { segment_bytes_max })
  const signals = ['bob', 'carl', 'bob', 'carl', 'bob'].map((to) => make.signal({ to }))
  for (const signal of signals) await store.append(signal)
  await store.complete('bob', [signals[0]!.signal_id], undefined, make.at())
  await atRest()
  if (clean) await store.close()
  return { disk: disk.afterKill(), signals }
}

function removeJournal(disk: MemoryDisk): void {
  for (const name of disk.names()) if (name.startsWith(`${JOURNAL}/`)) disk.remove(name)
}

/** Returns the actions of `--repair`, and the number of the next signal. */
async function repaired(disk: MemoryDisk) {
  repairJournal('/hub', disk)
  const given_up = giveUpLost('/hub', disk)
  const store = await open(disk)
  const { seq } = await store.append(make.signal())
  await store.close()
  // The repair is permanent.
  expect((await open(disk.afterKill())).health().last_seq).toBe(seq)
  return { given_up, seq }
}

const DAMAGES: [string, (disk: MemoryDisk) => void][] = [
  ['without its last segment', (disk) => disk.remove(segments(disk).at(-1)!)],
  ['without any segment', (disk) => segments(disk).forEach((name) => disk.remove(name))],
  ['that is gone with its epoch', removeJournal],
  [
    'whose last segment is cut in half',
    (disk) => disk.put(segments(disk).at(-1)!, half(disk.content(segments(disk).at(-1)!))),
  ],
  ['whose last segment is empty', (disk) => disk.put(segments(disk).at(-1)!, Buffer.alloc(0))],
  [
    'whose last segment is garbage of the same length',
    (disk) => disk.put(segments(disk).at(-1)!, disk.content(segments(disk).at(-1)!).fill(7)),
  ],
]
const half = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)

describe.each(DAMAGES)('a cleanly stopped journal %s', (_, damage) => {
  const WITNESSES: [string, string[]][] = [
    ['snapshot and high-water mark', []],
    ['the snapshot alone', [HIGH_WATER]],
    ['the high-water mark alone', [SNAPSHOT]],
  ]
  test.each(WITNESSES)(
    'an incomplete journal is rejected and not changed, as shown by %s',
    async (__, without) => {
      const { disk } = await home()
      for (const name of without) disk.remove(name)
      damage(disk)
      const before = disk.names().map((name) => [name, disk.content(name)])
      await expect(open(disk)).rejects.toMatchObject({ code: 'store_damaged' })
      const others = ([name]: unknown[]) => name !== `${JOURNAL}/epoch`
      const after = disk.names().map((name) => [name, disk.content(name)])
      expect(after.filter(others)).toEqual(before.filter(others))
    },
  )

  test('a repaired journal continues with higher seqs', async () => {
    const { disk } = await home()
    damage(disk)
    const { seq } = await repaired(disk)
    expect(seq).toBe(6)
  })
})

describe('lost signals', () => {
  test('lost signals are listed by recipient and named in the error', async () => {
    const { disk, signals } = await home()
    removeJournal(disk)
    await expect(open(disk)).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringMatching(/seq 5 and now ends at 0.*: 5 .*bob 2, carl 2/) as string,
      hint: expect.stringContaining('turnbell hub --repair') as string,
    })
    const { given_up } = await repaired(disk)
    expect(given_up).toMatchObject({ lost: 5, not_completed: { bob: 2, carl: 2 }, known_seq: 5 })
    const listed = disk.content(given_up!.listed_in!).toString().trim().split('\n')
    expect(listed.map((line) => (JSON.parse(line) as { signal_id: string }).signal_id)).toEqual(
      signals.map(({ signal_id }) => signal_id),
    )
  })

  test('a repair skips seqs if the number of assigned seqs is unknown', async () => {
    const { disk } = await home({ clean: false })
    removeJournal(disk)
    disk.remove(SNAPSHOT)
    const known_seq = (JSON.parse(disk.content(HIGH_WATER).toString()) as { last_seq: number }).last_seq
    const { given_up, seq } = await repaired(disk)
    expect(given_up).toMatchObject({ lost: null, known_seq, goes_on_after: known_seq + SEQ_GAP })
    expect(seq).toBeGreaterThan(known_seq + SEQ_GAP)
  })

  test('a repair changes no file of a complete journal', async () => {
    const { disk } = await home()
    const before = disk.names().map((name) => [name, disk.content(name)])
    expect(repairJournal('/hub', disk)).toEqual([])
    expect(giveUpLost('/hub', disk)).toBeNull()
    expect(disk.names().map((name) => [name, disk.content(name)])).toEqual(before)
  })
})

describe('the epoch', () => {
  const epochOf = (disk: MemoryDisk) => Number(disk.content(`${JOURNAL}/epoch`).toString())

  test('a missing epoch file is replaced by an epoch above every recorded one', async () => {
    const { disk } = await home()
    for (let opened = 0; opened < 3; opened += 1) await (await open(disk)).close()
    const before = epochOf(disk)
    disk.remove(`${JOURNAL}/epoch`)
    await open(disk)
    expect(epochOf(disk)).toBeGreaterThan(before)
  })

  test("a missing epoch file is replaced by an epoch above the segments' epochs even without other files", async () => {
    const { disk } = await home({ clean: false })
    const store = await open(disk)
    await store.append(make.signal())
    const before = epochOf(disk)
    for (const name of [`${JOURNAL}/epoch`, HIGH_WATER]) disk.remove(name)
    await open(disk)
    expect(epochOf(disk)).toBeGreaterThan(before)
  })
})

describe('changes of files under a running hub', () => {
  const removals: [string, (disk: MemoryDisk) => void][] = [
    ['removed', (disk) => disk.remove(segments(disk).at(-1)!)],
    ['replaced', (disk) => disk.put(segments(disk).at(-1)!, disk.content(segments(disk).at(-1)!))],
    ['removed with all others', removeJournal],
  ]
  test.each(removals)(
    'a segment that is %s takes no receipt, and the hub is not ready',
    async (_, remove) => {
      const disk = new MemoryDisk()
      const store = await open(disk)
      await store.append(make.signal())
      remove(disk)
      expect(store.health().writable).toBe(false)
      await expect(store.append(make.signal())).rejects.toMatchObject({
        code: expect.stringMatching(/^store_(damaged|unavailable)$/) as string,
      })
    },
  )

  test('a removed journal is reopened when it is back, and not earlier', async () => {
    const disk = new MemoryDisk()
    let writable = 0
    const own = fakeClock()
    const store = await openFileSignalStore({
      ...{ directory: '/hub', clock: own, disk, onWritable: () => (writable += 1) },
    })
    await store.append(make.signal())
    const kept = disk.names().map((name) => [name, disk.content(name)] as const)
    removeJournal(disk)
    expect(store.health().writable).toBe(false)
    await own.advance(120_000)
    expect(writable).toBe(0)
    for (const [name, content] of kept) disk.put(name, content)
    await own.advance(60_000)
    expect(writable).toBe(1)
    await store.close()
    expect((await open(disk)).health().last_seq).toBe(1)
  })

  test('a removed epoch file is rewritten', async () => {
    const disk = new MemoryDisk()
    let writable = 0
    const own = fakeClock()
    const store = await openFileSignalStore({
      ...{ directory: '/hub', clock: own, disk, onWritable: () => (writable += 1) },
    })
    await store.append(make.signal())
    disk.remove(`${JOURNAL}/epoch`)
    expect(store.health().writable).toBe(false)
    await own.advance(5_000)
    expect(writable).toBe(1)
    await store.close()
    const next = await open(disk)
    expect((await next.append(make.signal())).seq).toBe(2)
  })
})
