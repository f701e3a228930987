import { describe, expect, test } from 'vitest'
import type { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { Signal } from '../../../../src/contracts/signal.ts'
import { SEAL_BYTES, sealedLine, sealLine } from '../../../../src/storage/file/journal/sealed-line.ts'
import type { CutNotice } from '../../../../src/storage/file/signals/recovery.ts'
import { repairJournal } from '../../../../src/storage/file/signals/repair.ts'
import { openFileSignalStore } from '../../../../src/storage/file/signals/signal-store.ts'
import { atRest, fakeClock, seededRandom } from '../../../support/fakes/fake-clock.ts'
import { MemoryDisk } from '../../../support/disk/memory-disk.ts'
import { signalMaker } from '../../../support/signals.ts'

const clock = fakeClock()
const make = signalMaker(clock)
const FIRST = '/hub/journal/0000000001.jsonl'
const SECOND = '/hub/journal/0000000002.jsonl'

function open(
  disk: MemoryDisk,
  more: { segment_bytes_max?: number; onCut?: (notice: CutNotice) => void } = {},
) {
  return openFileSignalStore({ directory: '/hub', clock, disk, ...more })
}

/** Returns a home with signals 1 to `count`, each in its own commit; killed or closed. */
async function home(count: number, { closed = false, segment_bytes_max = 1_000_000 } = {}) {
  const disk = new MemoryDisk()
  const store = await open(disk, { segment_bytes_max })
  const signals: Signal[] = []
  for (let place = 0; place < count; place += 1) {
    const signal = make.signal({ payload: `payload ${place}` })
    signals.push(signal)
    await store.append(signal)
  }
  if (closed) await store.close()
  const left = disk.afterKill()
  left.remove('/hub/snapshot/index.bin')
  return { disk: left, ids: signals.map(({ signal_id }) => signal_id) }
}

function lines(disk: MemoryDisk, file: string): { text: string; offset: number }[] {
  let offset = 0
  return disk
    .content(file)
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((text) => {
      const line = { text, offset }
      offset += Buffer.byteLength(text) + 1
      return line
    })
}

/** Returns the content of a line without its checksum. */
function saidIn(text: string): Record<string, unknown> {
  const { crc: _, ...said } = JSON.parse(text) as Record<string, unknown>
  return said
}

/** Replaces the first line of a file; its checksum is valid. */
function putHead(disk: MemoryDisk, file: string, changed: (head: Record<string, unknown>) => object): void {
  const [head, next] = lines(disk, file)
  const rest = disk.content(file).subarray(next!.offset)
  disk.put(file, Buffer.concat([sealedLine(changed(saidIn(head!.text))), rest]))
}

/** Writes like a hub that was suspended while another one took the journal. */
function writeLate(disk: MemoryDisk): void {
  const at = disk.content(FIRST).length
  const known = lines(disk, FIRST).find(({ text }) => text.includes('payload 1'))!
  const signal_id = '01KJMMA2G0S00PBKNE345H2K09'
  const late = { ...saidIn(known.text), seq: 3, signal_id, payload: 'refused' }
  disk.put(FIRST, Buffer.concat([disk.content(FIRST), sealedLine({ kind: 'commit', at }), sealedLine(late)]))
}

/** Changes one byte of the line that contains `text`; returns the line's offset. */
function damage(disk: MemoryDisk, file: string, text: string): number {
  const line = lines(disk, file).find((one) => one.text.includes(text))
  if (line === undefined) throw new Error(`no line with ${text}`)
  const bytes = disk.content(file)
  const at = line.offset + line.text.indexOf(text)
  bytes[at] = (bytes[at] as number) ^ 1
  disk.put(file, bytes)
  return line.offset
}

const refusal = (file: string, offset: number) => ({
  code: 'store_damaged',
  detail: expect.stringContaining(`${file} at byte ${offset}:`) as string,
})

describe('unsynced bytes of a killed hub', () => {
  /** Returns a disk with one unconfirmed signal: its hub was killed before the sync ended. */
  async function killedBeforeTheSync() {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const first = make.signal()
    await store.append(first)
    disk.held = []
    const signal = make.signal({ idempotency_key: 'once' })
    void store.append(signal)
    await atRest()
    return { disk: disk.afterKill(), ids: [first.signal_id, signal.signal_id] }
  }

  /** Returns a hub with one signal, whose disk loses all further syncs and cannot truncate either. */
  async function onFailingDisk() {
    const disk = new MemoryDisk()
    const store = await open(disk)
    const first = make.signal()
    await store.append(first)
    disk.failed_sync_loses = true
    disk.fault = (operation) => (operation === 'sync' || operation === 'truncate' ? new Error('EIO') : null)
    return { disk, store, first }
  }

  test('unsynced bytes of a killed hub are synced before a repeated send is confirmed', async () => {
    const { disk, ids } = await killedBeforeTheSync()
    const store = await open(disk)
    const again = await store.append(make.signal({ idempotency_key: 'once' }))
    expect(again).toMatchObject({ signal_id: ids[1], repeated: true })
    const after = await open(disk.afterPowerCut(() => 0))
    expect(after.peek('bob', 10).map(({ signal_id }) => signal_id)).toEqual(ids)
  })

  test('bytes whose sync had failed are rewritten, because the system may consider them written', async () => {
    const { disk, store, first } = await onFailingDisk()
    const signal = make.signal()
    await expect(store.append(signal)).rejects.toMatchObject({ code: 'store_unavailable' })
    const left = disk.afterKill()
    const next = await open(left)
    const third = make.signal()
    await next.append(third)
    const after = await open(left.afterPowerCut(() => 0))
    expect(after.peek('bob', 10).map(({ signal_id }) => signal_id)).toEqual(
      [first, signal, third].map(({ signal_id }) => signal_id),
    )
  })

  test('bytes whose sync failed at the close are rewritten, including their commit line', async () => {
    const { disk, store, first } = await onFailingDisk()
    await store.close()
    const left = disk.afterKill()
    const next = await open(left)
    const second = make.signal()
    await next.append(second)
    const after = await open(left.afterPowerCut(() => 0))
    expect(after.peek('bob', 10).map(({ signal_id }) => signal_id)).toEqual(
      [first, second].map(({ signal_id }) => signal_id),
    )
  })

  test('unsynced bytes of a killed hub stay as long as the segment that refers to them', async () => {
    const { disk, ids } = await killedBeforeTheSync()
    const store = await open(disk)
    const third = make.signal()
    await store.append(third)
    const after = await open(disk.afterPowerCut(() => 0))
    expect(after.peek('bob', 10).map(({ signal_id }) => signal_id)).toEqual([...ids, third.signal_id])
  })
})

describe('a torn end of the last segment', () => {
  test('a torn end is cut off, kept next to the segment and reported', async () => {
    const { disk, ids } = await home(3)
    const whole = disk.content(FIRST)
    const torn = lines(disk, FIRST).at(-1)!.offset
    disk.put(FIRST, whole.subarray(0, whole.length - 10))
    const notices: CutNotice[] = []
    const store = await open(disk, { onCut: (notice) => notices.push(notice) })
    expect(store.peek('bob', 10).map(({ signal_id }) => signal_id)).toEqual(ids.slice(0, 2))
    expect(notices).toEqual([
      {
        file: FIRST,
        offset: torn,
        bytes: whole.length - 10 - torn,
        kept_in: `${FIRST}.torn-${torn}`,
        reason: 'the line ends without its newline',
      },
    ])
    expect(disk.content(`${FIRST}.torn-${torn}`)).toEqual(whole.subarray(torn, whole.length - 10))
    // After the truncation it opens without another notice.
    const again: CutNotice[] = []
    await open(disk.afterKill(), { onCut: (notice) => again.push(notice) })
    expect(again).toEqual([])
  })

  test('a torn end of zeros is cut off, too', async () => {
    const { disk, ids } = await home(2)
    disk.put(FIRST, Buffer.concat([disk.content(FIRST), Buffer.alloc(5000)]))
    const notices: CutNotice[] = []
    const store = await open(disk, { onCut: (notice) => notices.push(notice) })
    expect(store.peek('bob', 10)).toHaveLength(ids.length)
    expect(notices).toMatchObject([{ bytes: 5000 }])
  })

  test('a torn end never overwrites the one that an earlier crash left', async () => {
    const { disk } = await home(2)
    const whole = disk.content(FIRST)
    const torn = lines(disk, FIRST).at(-1)!.offset
    for (const kept of [`${FIRST}.torn-${torn}`, `${FIRST}.torn-${torn}-2`]) {
      disk.put(FIRST, whole.subarray(0, whole.length - 1))
      await open(disk)
      expect(disk.content(kept).length).toBe(whole.length - 1 - torn)
    }
  })

  test('a torn group of signals is cut off as a whole', async () => {
    const { disk, ids } = await home(1)
    const store = await open(disk)
    await store.appendAll([make.signal(), make.signal(), make.signal()])
    const killed = disk.afterKill()
    const whole = killed.content(SECOND)
    const [, first, , third] = lines(killed, SECOND)
    for (const end of [whole.length - 1, third!.offset, third!.offset + 1, first!.offset + 5]) {
      const cut = killed.afterKill()
      cut.put(SECOND, whole.subarray(0, end))
      const notices: CutNotice[] = []
      const reopened = await open(cut, { onCut: (notice) => notices.push(notice) })
      expect(reopened.peek('bob', 10).map(({ signal_id }) => signal_id)).toEqual(ids)
      expect(notices).toMatchObject([{ offset: first!.offset }])
    }
  })

  test('a segment torn within its first line is removed', async () => {
    const { disk, ids } = await home(2)
    disk.put(SECOND, Buffer.from('{"kind":"segm'))
    const store = await open(disk)
    expect(disk.names()).toContain(`${SECOND}.torn-0`)
    expect(disk.names()).not.toContain(SECOND)
    await store.append(make.signal())
    expect((await open(disk.afterKill())).peek('bob', 10)).toHaveLength(ids.length + 1)
  })

  test('an empty last segment is removed', async () => {
    const { disk } = await home(2)
    disk.put(SECOND, Buffer.alloc(0))
    const store = await open(disk)
    await store.append(make.signal())
    expect((await open(disk.afterKill())).health().signals).toBe(3)
  })

  test('signals accepted after a torn end are written to a new segment', async () => {
    const { disk } = await home(2)
    const whole = disk.content(FIRST)
    disk.put(FIRST, whole.subarray(0, whole.length - 3))
    const store = await open(disk)
    await store.append(make.signal({ payload: 'after the crash' }))
    expect(lines(disk, SECOND).some(({ text }) => text.includes('after the crash'))).toBe(true)
    expect((await open(disk.afterKill())).health()).toMatchObject({ signals: 2, last_seq: 2 })
  })
})

describe('damage outside of the end', () => {
  test('damage in a sealed segment fails the open, naming file and byte', async () => {
    const { disk } = await home(6, { segment_bytes_max: 700 })
    const offset = damage(disk, FIRST, 'payload 0')
    await expect(open(disk)).rejects.toMatchObject(refusal(FIRST, offset))
  })

  test('damage in the last segment fails the open if a later commit proves that it was synced', async () => {
    const { disk } = await home(3)
    const offset = damage(disk, FIRST, 'payload 0')
    await expect(open(disk)).rejects.toMatchObject(refusal(FIRST, offset))
  })

  test('a power cut while a segment is closed is not damage', async () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const disk = new MemoryDisk()
      const store = await open(disk)
      await store.append(make.signal({ payload: 'kept' }))
      const late = store.append(make.signal({ payload: 'on its way' })).catch(() => undefined)
      disk.held = []
      void store.close()
      for (let held = 0; held <= seed % 2; held += 1) {
        await atRest()
        if (held < seed % 2) for (const finish of disk.held.splice(0)) finish()
      }
      const random = seededRandom(seed)
      const left = disk.afterPowerCut((max) => Math.floor(random.next() * (max + 1)))
      const again = await open(left)
      expect((await again.query({ limit: 10 })).signals.map(({ payload }) => payload)).toContain('kept')
      await again.close()
      disk.releaseSyncs()
      await late
    }
  })

  test('damage in the last commit fails the open if the segment was closed', async () => {
    const { disk } = await home(3, { closed: true })
    const offset = damage(disk, FIRST, 'payload 2')
    await expect(open(disk)).rejects.toMatchObject(refusal(FIRST, offset))
  })

  test('damage that joins two lines does not hide a later commit', async () => {
    const { disk } = await home(3)
    const bytes = disk.content(FIRST)
    const commit = lines(disk, FIRST).findLast(({ text }) => text.startsWith('{"kind":"commit"'))!
    bytes[commit.offset - 1] = 32
    disk.put(FIRST, bytes)
    await expect(open(disk)).rejects.toMatchObject({ code: 'store_damaged' })
  })

  test('a payload that looks like a commit line is not one', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    const payload = { kind: 'commit', at: 0, crc: '00000000' }
    await store.append(make.signal({ payload: { list: [payload], text: '{"kind":"commit","at":3}\n' } }))
    const killed = disk.afterKill()
    const whole = killed.content(FIRST)
    const torn = lines(killed, FIRST).at(-1)!
    whole[torn.offset + 3] = 0
    killed.put(FIRST, whole)
    expect((await open(killed)).health().signals).toBe(1)
  })

  test('the open names a truncated segment, a missing one, and one without its first line', async () => {
    const THIRD = '/hub/journal/0000000003.jsonl'
    const { disk } = await home(6, { segment_bytes_max: 700 })
    const whole = disk.content(FIRST)

    const short = disk.afterKill()
    const last_line = lines(short, FIRST).at(-1)!
    short.put(FIRST, whole.subarray(0, last_line.offset))
    await expect(open(short)).rejects.toMatchObject(refusal(FIRST, last_line.offset))

    const missing = disk.afterKill()
    missing.remove(SECOND)
    await expect(open(missing)).rejects.toMatchObject(refusal(THIRD, 0))

    const oldest = disk.afterKill()
    oldest.remove(FIRST)
    await expect(open(oldest)).rejects.toMatchObject(refusal(SECOND, 0))

    const headless = disk.afterKill()
    headless.put(SECOND, headless.content(SECOND).subarray(lines(headless, SECOND)[1]!.offset))
    await expect(open(headless)).rejects.toMatchObject(refusal(SECOND, 0))

    const renamed = disk.afterKill()
    renamed.rename(SECOND, '/hub/journal/0000000009.jsonl')
    await expect(open(renamed)).rejects.toMatchObject({ code: 'store_damaged' })
  })

  test('a journal of a later format is rejected and not repaired', async () => {
    const { disk } = await home(1)
    putHead(disk, FIRST, (head) => ({ ...head, version: 2 }))
    await expect(open(disk)).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringContaining('format 2') as string,
    })
    expect(() => repairJournal('/hub', disk)).toThrow(/format 2/)
  })

  test('a journal whose first line has other members of a later format is rejected and not repaired', async () => {
    const { disk } = await home(3)
    // The same length, because lines contain their own offsets.
    putHead(disk, FIRST, ({ last_signal_id, ...head }) => ({
      ...head,
      version: 2,
      last_signal_at: last_signal_id,
    }))
    await expect(open(disk.afterKill())).rejects.toMatchObject({
      detail: expect.stringContaining('format 2') as string,
    })
    expect(() => repairJournal('/hub', disk)).toThrow(/format 2/)
  })

  test.each(['banana', '0', '1.5', String(Number.MAX_SAFE_INTEGER)])(
    'an epoch of %s is named, and repaired above all that were',
    async (epoch) => {
      const { disk } = await home(1)
      disk.put('/hub/journal/epoch', Buffer.from(epoch))
      await expect(open(disk)).rejects.toMatchObject(refusal('/hub/journal/epoch', 0))
      repairJournal('/hub', disk)
      await open(disk)
      expect(disk.content('/hub/journal/epoch').toString()).toBe('3\n')
    },
  )

  test('damage found only when a body is read fails that drain and leases nothing', async () => {
    const { disk, ids } = await home(2)
    const store = await open(disk)
    const offset = damage(disk, FIRST, 'payload 0')
    const request = { ...make.lease(), limit: 10, now: make.at() }
    await expect(store.drain('bob', request)).rejects.toMatchObject(refusal(FIRST, offset))
    expect(store.pendingCount('bob')).toBe(2)
    expect(store.leases()).toEqual([])
    expect(store.health().writable).toBe(true)
    expect(await store.read(ids[1]!)).toMatchObject({ payload: 'payload 1' })
  })
})

describe('valid lines with invalid content', () => {
  const sealed = (text: string) => {
    const line = Buffer.alloc(Buffer.byteLength(text) + SEAL_BYTES)
    line.write(text)
    sealLine(line, 0, Buffer.byteLength(text))
    return line
  }
  const HEAD = sealedLine({
    ...{ kind: 'segment', version: 1, segment: 1, first: 1, revision: 0, epoch: 1 },
    ...{ follows: null, last_seq: 0, last_signal_id: null },
  })
  const SIGNAL = '{"kind":"signal","seq":1,"signal_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","to":"bob","from":"ada"'
  const TIMES = ',"created_at":"2026-03-01T12:00:00.000Z","expires_at":"2026-03-02T12:00:00.000Z"'
  const journal = (...lines: Buffer[]) => {
    const disk = new MemoryDisk()
    disk.put(FIRST, Buffer.concat(lines))
    return disk
  }

  test('a first line that does not describe the file is rejected even before a torn end', async () => {
    const disk = journal(sealedLine({ kind: 'commit', at: 0 }), Buffer.from('{"torn'))
    const before = disk.content(FIRST)
    await expect(open(disk)).rejects.toMatchObject(refusal(FIRST, 0))
    expect(disk.content(FIRST)).toEqual(before)
  })

  test('a first line about another segment is rejected, whatever range it claims', async () => {
    const first = { kind: 'segment', version: 1, segment: 9e15, first: 1, revision: 1, epoch: 1 }
    await expect(open(journal(sealedLine(first)))).rejects.toMatchObject(refusal(FIRST, 0))
  })

  test('a signal without times is cut off at the end of the journal and rejected elsewhere', async () => {
    const signal = sealed(`${SIGNAL},"created_at":"soon","payload":1`)
    const store = await open(journal(HEAD, signal))
    expect(await store.query({ limit: 9 })).toEqual({ signals: [], next: null })
    const at = HEAD.length + signal.length
    const synced = journal(HEAD, signal, sealedLine({ kind: 'commit', at }))
    await expect(open(synced)).rejects.toMatchObject(refusal(FIRST, HEAD.length))
  })

  test.each([
    `${SIGNAL.replace(',"from":"ada"', '')}${TIMES},"intent":"x","priority":1,"payload":1`,
    `${SIGNAL}${TIMES},"intent":"x","priority":"1","payload":1`,
    '{"kind":"lease","drain_id":"d","session_id":"s","identity":"bob","signal_ids":[]',
    '{"kind":"release","pending":[1],"dead":[]',
  ])('a line without a required member is rejected: %s', async (text) => {
    const line = sealed(text)
    const disk = journal(HEAD, line, sealedLine({ kind: 'commit', at: HEAD.length + line.length }))
    await expect(open(disk)).rejects.toMatchObject(refusal(FIRST, HEAD.length))
  })

  test('a result nested too deeply is reported as damage with its location', async () => {
    const signal = sealed(`${SIGNAL}${TIMES},"intent":"x","origin":"agent","priority":1,"payload":1`)
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const times = '"at":"2026-03-01T12:00:00.000Z"'
    const complete = sealed(
      `{"kind":"complete",${times},"signal_ids":["01ARZ3NDEKTSV4RRFFQ69G5FAV"],"result":${deep}`,
    )
    const store = await open(journal(HEAD, signal, complete))
    await expect(store.read('01ARZ3NDEKTSV4RRFFQ69G5FAV')).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringContaining(`at byte ${HEAD.length + signal.length}: `) as string,
    })
  })

  test('a line that looks like a commit but is not JSON proves nothing', async () => {
    const disk = journal(
      HEAD,
      Buffer.from('torn\n'),
      sealed('{"kind":"commit","at":5,"kind":0'),
      sealed('{"kind":"commit","at":5]'),
    )
    await expect(open(disk)).resolves.toBeDefined()
  })

  test.each([
    ['no JSON', '6]'],
    ['nested as deep as no hub took it in', `${'['.repeat(8_000)}${']'.repeat(8_000)}`],
    ['followed by such a one', `6,"from":${'['.repeat(8_000)}${']'.repeat(8_000)}`],
  ])('a payload that is %s is reported with its location when it is read', async (_, payload) => {
    const store = await open(
      journal(HEAD, sealed(`${SIGNAL}${TIMES},"intent":"x","priority":1,"payload":${payload}`)),
    )
    await expect(store.query({ limit: 9 })).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringContaining(`segment 1 at byte ${HEAD.length}:`) as string,
    })
  })
})

describe('repair', () => {
  const payloads = async (disk: MemoryDisk) =>
    (await (await open(disk)).readPending('bob', 100)).map(({ signal }) => signal.payload)

  test('repair does not change an intact journal or a torn end', async () => {
    const { disk } = await home(6, { segment_bytes_max: 700 })
    const before = new Map(disk.names().map((name) => [name, disk.content(name)]))
    expect(repairJournal('/hub', disk)).toEqual([])
    const last = disk.names().findLast((name) => name.endsWith('.jsonl'))!
    disk.put(last, disk.content(last).subarray(0, -4))
    expect(repairJournal('/hub', disk)).toEqual([])
    for (const [name, content] of before) if (name !== last) expect(disk.content(name)).toEqual(content)
  })

  test('repair quarantines damaged lines with offset and reason, and the journal opens', async () => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    const first = damage(disk, FIRST, 'payload 0')
    const second = damage(disk, SECOND, 'payload 3')
    expect(repairJournal('/hub', disk)).toEqual([
      { file: FIRST, kept_in: `${FIRST}.rejected`, rejected: 1 },
      { file: SECOND, kept_in: `${SECOND}.rejected`, rejected: 1 },
    ])
    const rejected = (file: string) =>
      JSON.parse(disk.content(`${file}.rejected`).toString()) as {
        offset: number
        reason: string
        text: string
      }
    expect(rejected(FIRST)).toMatchObject({ offset: first, reason: 'the line does not match its checksum' })
    expect(rejected(SECOND)).toMatchObject({ offset: second })
    expect(rejected(SECOND).text).toContain('"kind":"signal"')
    expect(await payloads(disk)).toEqual([1, 2, 4, 5, 6, 7].map((place) => `payload ${place}`))
    // A repaired journal can be repaired again.
    damage(disk, FIRST, 'payload 1')
    await expect(open(disk.afterKill())).rejects.toMatchObject({ code: 'store_damaged' })
    repairJournal('/hub', disk)
    expect(disk.content(`${FIRST}.rejected`).toString().trim().split('\n')).toHaveLength(2)
    expect(await payloads(disk)).toEqual([2, 4, 5, 6, 7].map((place) => `payload ${place}`))
  })

  test('repair finds a valid line after a damaged newline', async () => {
    const { disk } = await home(4, { closed: true })
    const bytes = disk.content(FIRST)
    const line = lines(disk, FIRST).find(({ text }) => text.includes('payload 2'))!
    bytes[line.offset - 1] = 255
    disk.put(FIRST, bytes)
    const [repaired] = repairJournal('/hub', disk)
    expect(repaired).toMatchObject({ rejected: 1 })
    expect(JSON.parse(disk.content(repaired!.kept_in).toString())).toHaveProperty('base64')
    expect(await payloads(disk)).toEqual([0, 1, 2, 3].map((place) => `payload ${place}`))
  })

  test('repair quarantines the torn end if the file is rewritten anyway', async () => {
    const { disk } = await home(4)
    damage(disk, FIRST, 'payload 1')
    disk.put(FIRST, disk.content(FIRST).subarray(0, -3))
    expect(repairJournal('/hub', disk)).toMatchObject([{ rejected: 2 }])
    expect(await payloads(disk)).toEqual(['payload 0', 'payload 2'])
  })

  test('repair accepts a missing segment as lost and reports it', async () => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    disk.remove(SECOND)
    disk.put(FIRST, disk.content(FIRST).subarray(0, lines(disk, FIRST)[1]!.offset))
    const reasons = repairJournal('/hub', disk).map(
      ({ kept_in }) => (JSON.parse(disk.content(kept_in).toString()) as { reason: string }).reason,
    )
    expect(reasons).toEqual([expect.stringContaining('this segment follows segment 2, which is missing')])
    const store = await open(disk)
    expect(store.health().signals).toBeGreaterThan(0)
    await store.append(make.signal())
    expect((await open(disk.afterKill())).health().writable).toBe(true)
  })

  test('repair writes a new first line for a segment without one', async () => {
    const { disk } = await home(6, { segment_bytes_max: 700 })
    disk.put(SECOND, disk.content(SECOND).subarray(lines(disk, SECOND)[1]!.offset))
    repairJournal('/hub', disk)
    expect(await payloads(disk)).toHaveLength(6)
  })

  test('repair fixes a last segment whose valid first line does not describe it', async () => {
    const { disk } = await home(1)
    putHead(disk, FIRST, ({ follows: _, ...head }) => head)
    await expect(open(disk.afterKill())).rejects.toMatchObject({ code: 'store_damaged' })
    expect(repairJournal('/hub', disk)).toMatchObject([{ rejected: 1 }])
    expect(await payloads(disk)).toEqual(['payload 0'])
  })

  test.each([
    ['nothing', null, 0],
    ['a signal', 'payload 0', 1],
    ['the first line', '"kind":"segment"', 0],
  ])(
    'repair quarantines lines that a former owner wrote after the end, with damage in %s',
    async (_, damaged, lost) => {
      const { disk } = await home(4, { segment_bytes_max: 600 })
      writeLate(disk)
      if (damaged !== null) {
        damage(disk, FIRST, damaged)
        expect(repairJournal('/hub', disk)).toHaveLength(1)
        expect(disk.content(`${FIRST}.rejected`).toString()).toContain('refused')
      }
      const kept = ['payload 0', 'payload 1', 'payload 2', 'payload 3'].slice(lost)
      expect(await payloads(disk)).toEqual(kept)
    },
  )

  test('repair keeps all lines of a compacted file without its first line, whatever its former length', async () => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    const all = lines(disk, FIRST).map(({ text }) => saidIn(text))
    const [head, ...signals] = all.filter(({ kind }) => kind === 'segment' || kind === 'signal')
    const compacted = [{ ...head, revision: 1 }, ...signals]
    disk.put(FIRST, Buffer.concat(compacted.map((line) => sealedLine(line))))
    // The same number of digits, so that the next file is not shorter than expected.
    putHead(disk, SECOND, ({ follows, ...second }) => ({
      ...second,
      follows: { segment: 1, bytes: 10 ** (String((follows as { bytes: number }).bytes).length - 1) },
    }))
    expect(await payloads(disk.afterKill())).toHaveLength(8)
    damage(disk, FIRST, '"kind":"segment"')
    expect(repairJournal('/hub', disk)).toMatchObject([{ rejected: 1 }])
    expect(await payloads(disk)).toHaveLength(8)
  })

  test("repair quarantines a former owner's lines also if only the next segment is damaged", async () => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    writeLate(disk)
    damage(disk, SECOND, 'payload 3')
    expect(repairJournal('/hub', disk)).toMatchObject([{ file: SECOND }])
    expect(await payloads(disk)).toEqual([0, 1, 2, 4, 5, 6, 7].map((place) => `payload ${place}`))
  })

  test('repair keeps nothing of an incomplete group of signals', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    for (const place of [0, 1]) await store.append(make.signal({ payload: `payload ${place}` }))
    await store.appendAll([1, 2, 3].map((part) => make.signal({ payload: `part ${part}` })))
    const left = disk.afterKill()
    const third = lines(left, FIRST).find(({ text }) => text.includes('part 3'))!
    left.put(FIRST, left.content(FIRST).subarray(0, third.offset + 20))
    damage(left, FIRST, 'payload 0')
    expect(repairJournal('/hub', left)).toMatchObject([{ rejected: 4 }])
    expect(await payloads(left)).toEqual(['payload 1'])
  })

  test('repair keeps the rest of a group in a compacted file, as an open does', async () => {
    const { disk } = await home(3)
    const all = lines(disk, FIRST).map(({ text }) => saidIn(text))
    const [head, ...signals] = all.filter(({ kind }) => kind === 'segment' || kind === 'signal')
    const compacted = [{ ...head, revision: 1 }, ...signals.slice(0, 2), { ...signals[2], left: 1 }]
    disk.put(FIRST, Buffer.concat(compacted.map((line) => sealedLine(line))))
    expect(await payloads(disk.afterKill())).toHaveLength(3)
    damage(disk, FIRST, 'payload 0')
    expect(repairJournal('/hub', disk)).toMatchObject([{ rejected: 1 }])
    expect(await payloads(disk)).toEqual(['payload 1', 'payload 2'])
  })

  test('repair leaves a last file whose later damage can still be distinguished from a torn write', async () => {
    const { disk } = await home(3)
    damage(disk, FIRST, 'payload 0')
    repairJournal('/hub', disk)
    damage(disk, FIRST, '"kind":"segment"')
    await expect(open(disk.afterKill())).rejects.toMatchObject({ code: 'store_damaged' })
    expect(repairJournal('/hub', disk)).toMatchObject([{ rejected: 1 }])
    expect(await payloads(disk)).toEqual(['payload 1', 'payload 2'])
  })

  test.each([
    { segment: 1, bytes: -5 },
    { segment: 1, bytes: 0 },
    { segment: -1, bytes: 5 },
  ])('repair treats a first line that follows %o as damage', async (follows) => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    putHead(disk, SECOND, (head) => ({ ...head, follows }))
    await expect(open(disk.afterKill())).rejects.toMatchObject({ code: 'store_damaged' })
    repairJournal('/hub', disk)
    expect(await payloads(disk)).toHaveLength(8)
  })

  test.each([0, 2 ** 53 - 1, 2 ** 53])('repair treats a signal with seq %d as damage', async (seq) => {
    const { disk } = await home(3)
    let content = Buffer.alloc(0)
    for (const { text } of lines(disk, FIRST)) {
      const said = saidIn(text)
      const changed =
        said['payload'] === 'payload 1' ? { seq } : said['kind'] === 'commit' ? { at: content.length } : {}
      content = Buffer.concat([content, sealedLine({ ...said, ...changed })])
    }
    disk.put(FIRST, content)
    await expect(open(disk.afterKill())).rejects.toMatchObject({ code: 'store_damaged' })
    repairJournal('/hub', disk)
    expect(await payloads(disk)).toEqual(['payload 0', 'payload 2'])
  })

  test('repair writes a first line for a segment without valid lines, and the other segments open', async () => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    const lost = lines(disk, SECOND).filter(({ text }) => text.includes('"kind":"signal"')).length
    disk.put(SECOND, Buffer.alloc(0))
    await expect(open(disk.afterKill())).rejects.toMatchObject({ code: 'store_damaged' })
    const reasons = repairJournal('/hub', disk).map(
      ({ kept_in }) => (JSON.parse(disk.content(kept_in).toString()) as { reason: string }).reason,
    )
    expect(reasons).toEqual(['the file has no valid lines'])
    expect(lost).toBeGreaterThan(0)
    expect(await payloads(disk)).toHaveLength(8 - lost)
  })

  test('repair keeps a segment of which another file is a copy', async () => {
    const { disk } = await home(8, { segment_bytes_max: 900 })
    const joined = { ...saidIn(lines(disk, SECOND)[0]!.text), segment: 9, first: 1, revision: 1 }
    disk.put(SECOND, Buffer.concat([sealedLine(joined), disk.content(SECOND)]))
    repairJournal('/hub', disk)
    expect(await payloads(disk)).toContain('payload 0')
  })
})

describe('two owners', () => {
  test('the first owner notices the takeover before its next byte and confirms nothing', async () => {
    const disk = new MemoryDisk()
    const fatal: TurnbellError[] = []
    const first = await openFileSignalStore({
      directory: '/hub',
      clock,
      disk,
      onFatal: (error) => fatal.push(error),
    })
    await first.append(make.signal())
    const second = await open(disk)
    const before = disk.content(FIRST)
    await expect(first.append(make.signal())).rejects.toMatchObject({ code: 'store_fenced' })
    await expect(first.append(make.signal())).rejects.toMatchObject({ code: 'store_fenced' })
    expect(first.health()).toMatchObject({ writable: false, signals: 1, pending: 1 })
    expect(fatal).toHaveLength(1)
    expect(disk.content(FIRST)).toEqual(before)
    await first.close()
    await second.append(make.signal())
    expect((await open(disk.afterKill())).health().signals).toBe(2)
  })

  test('lines that the first owner writes after the takeover are cut off and kept', async () => {
    const disk = new MemoryDisk()
    const first = await open(disk)
    await first.append(make.signal())
    const sealed = disk.content(FIRST).length
    const second = await open(disk)
    await second.append(make.signal())
    const late = make.signal({ payload: 'too late' })
    const fd = disk.open(FIRST, 'write')
    disk.write(fd, Buffer.from(`${JSON.stringify(late)}\n`), sealed)
    const notices: CutNotice[] = []
    const third = await open(disk.afterKill(), { onCut: (notice) => notices.push(notice) })
    expect(notices).toMatchObject([{ file: FIRST, offset: sealed }])
    expect(third.health().signals).toBe(2)
  })

  test('only one of two owners that begin the same segment wins', async () => {
    const disk = new MemoryDisk()
    const first = await open(disk)
    // The second hub has progressed this far when the first has just checked the epoch.
    disk.put(FIRST, Buffer.from('the other one was here'))
    await expect(first.append(make.signal())).rejects.toMatchObject({ code: 'store_fenced' })
    expect(disk.content(FIRST).toString()).toBe('the other one was here')
  })

  test('a journal that was removed under a running hub accepts nothing more', async () => {
    const disk = new MemoryDisk()
    const store = await open(disk)
    await store.append(make.signal())
    disk.remove('/hub/journal/epoch')
    await expect(store.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('a lower epoch is an older copy of the file, and a later open continues above both', async () => {
    const disk = new MemoryDisk()
    await (await open(disk)).close()
    const former = disk.content('/hub/journal/epoch')
    const store = await open(disk)
    await store.append(make.signal())
    disk.put('/hub/journal/epoch', former)
    await expect(store.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    await store.close()
    const again = await open(disk)
    await again.append(make.signal())
    expect(again.health().signals).toBe(2)
    expect(Number(disk.content('/hub/journal/epoch').toString())).toBe(3)
  })
})
