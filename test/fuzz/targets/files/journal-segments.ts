/** Fuzzes a journal of several segments: their order, damage in one of them, a missing or foreign one, and repair. */
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { parseEntry, type SegmentEntry } from '../../../../src/storage/file/journal/journal-entries.ts'
import { isValidLine, sealedLine } from '../../../../src/storage/file/journal/sealed-line.ts'
import { repairJournal, type RepairedFile } from '../../../../src/storage/file/signals/repair.ts'
import { openFileSignalStore } from '../../../../src/storage/file/signals/signal-store.ts'
import type { FileSignalStore } from '../../../../src/storage/file/signals/signal-operations.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { MemoryDisk } from '../../../support/disk/memory-disk.ts'
import { DAY_MS, signalMaker } from '../../../support/signals.ts'
import { stateOf } from '../../../support/store-state.ts'
import { inOne, NEXT, partsOf } from '../../parts.ts'
import { sealed, unsealed } from '../../seals.ts'
import { insist, type Target } from '../../target.ts'

const HOME = '/hub'
const JOURNAL = '/hub/journal'
const EPOCH = `${JOURNAL}/epoch`
/** Replaces a missing file. */
const GONE = 'gone'
const SEGMENTS_MAX = 9
const SEGMENT_BYTES_MAX = 700
const NEWLINE = 10
const PLACE = /^(\/hub\/journal\/(?:\d{10}\.jsonl|epoch)) at byte (\d+): /
const SIGNAL_PLACE = /^(?:\/hub\/journal\/\d{10}\.jsonl|segment \d+) at byte \d+: /
/** A commit line without content, which ends a group whose last line is missing. */
const COMMIT = sealedLine({ kind: 'commit', at: 0 })
/**
 * Moves later lines so far that no line contains its own offset, which would prove that everything before was synced.
 */
const FAR = sealedLine({ kind: 'commit', at: 0, far: '.'.repeat(100_000) })

const make = signalMaker(fakeClock())

const fileOf = (segment: number) => `${JOURNAL}/${String(segment).padStart(10, '0')}.jsonl`

export const journalSegments: Target = {
  name: 'journal-segments',
  promise:
    'a journal opens with what its whole lines say, or is refused with its place and left as it is; one that a hub has written opens once it is repaired, and nothing is thrown away',
  share: 0.3,
  bytes_max: 32_768,
  words: [
    ...[NEXT, GONE, '{"kind":"commit","at":0}\n', '"left":', '"follows":null'],
    ...['"segment":', '"first":', '"revision":', '"follows":{"segment":', '"bytes":'],
  ],

  async open() {
    const disks = await homes()
    const journals = disks.map(inputOf)
    return {
      seeds: [...journals, ...journals.map(unsealed)],
      broken_seeds: disks.slice(0, 1).flatMap(damaged),
      async attempt(input) {
        const { disk: before, odd } = diskOf(input)
        const disk = before.afterKill()
        const found = await opened(disk)
        if ('state' in found) {
          await saysTheSame(before, found.state)
          return found.state === null ? 'unreadable' : `opened ${disk.names().length > before.names().length}`
        }
        insist(
          !journals.some((journal) => journal.equals(input)),
          () => `refused, and sound: ${found.refused.detail}`,
        )
        isRefusal(found.refused, before, disk)
        return repaired(before, odd)
      },
    }
  },
}

/**
 * Returns homes with one or a few signals in each segment, some of them finished, then without those, at last with a
 * clean end.
 */
async function homes(): Promise<MemoryDisk[]> {
  const disk = new MemoryDisk()
  const store = await open(disk)
  const signals = Array.from({ length: 8 }, (_, at) =>
    make.signal({ payload: { at }, expires_at: make.at(50 * DAY_MS), priority: at % 3 }),
  )
  for (const signal of signals.slice(0, 5)) await store.append(signal)
  await store.appendAll(signals.slice(5))
  const lease = make.lease()
  await store.drain('bob', { ...lease, limit: 2, now: make.at() })
  await store.confirm(lease.drain_id, make.at())
  const ids = signals.slice(0, 5).map(({ signal_id }) => signal_id)
  await store.complete('bob', ids, { done: true }, make.at())
  await store.append(make.signal())
  const whole = disk.afterKill()
  await store.compact(make.at(8 * DAY_MS))
  const compacted = disk.afterKill()
  // The state after a kill during compaction, before the old segments are removed.
  const between = new MemoryDisk(new Map([...whole.files, ...compacted.files]))
  await store.close()
  return [whole, between, compacted, disk]
}

/** Returns a journal of five segments in states that disks and people produce, including manual repair. */
function damaged(disk: MemoryDisk): Buffer[] {
  const first = (segment: number, bytes: number) => disk.content(fileOf(segment)).subarray(0, bytes)
  const changes: Record<string, Buffer | null>[] = [
    { [fileOf(3)]: null },
    { [fileOf(3)]: Buffer.alloc(0) },
    { [fileOf(2)]: first(2, 400) },
    { [fileOf(4)]: disk.content(fileOf(2)) },
    { [fileOf(4)]: null, [fileOf(5)]: first(5, 300) },
    { [EPOCH]: Buffer.from('9007199254740993') },
  ]
  return changes.map((change) => {
    const changed = disk.afterKill()
    for (const [file, bytes] of Object.entries(change)) {
      changed.files.delete(file)
      if (bytes !== null) changed.put(file, bytes)
    }
    return inputOf(changed)
  })
}

/** The store is not closed, as after a kill; it exists only in memory. */
function open(disk: MemoryDisk): Promise<FileSignalStore> {
  return openFileSignalStore({
    directory: HOME,
    clock: fakeClock(),
    disk,
    segment_bytes_max: SEGMENT_BYTES_MAX,
  })
}

// --- Inputs -----------------------------------------------------------------------------------

function inputOf(disk: MemoryDisk): Buffer {
  const files = [EPOCH, ...Array.from({ length: SEGMENTS_MAX }, (_, at) => fileOf(at + 1))]
  const last = files.findLastIndex((file) => disk.files.has(file))
  const parts = files.slice(0, last + 1).map((file) => disk.readFile(file) ?? Buffer.from(GONE))
  return inOne(parts)
}

/** `odd`: lines are complete, but no hub has written them. */
function diskOf(input: Buffer): { disk: MemoryDisk; odd: boolean } {
  const disk = new MemoryDisk()
  let odd = false
  for (const [nth, part] of partsOf(input, SEGMENTS_MAX + 1).entries()) {
    if (part.equals(Buffer.from(GONE))) continue
    const bytes = nth === 0 ? part : withSeals(part)
    disk.put(nth === 0 ? EPOCH : fileOf(nth), bytes)
    odd ||= !bytes.equals(part)
  }
  return { disk, odd }
}

/** Adds missing checksums. Otherwise every mutated line would only count as damaged, never as complete and unusual. */
function withSeals(part: Buffer): Buffer {
  const lines = linesOf(part).map((line) => {
    const end = line.length - 2
    if (line.at(-1) !== NEWLINE || line[end] !== 0x7d || end < 2 || line.includes('"crc":"')) return line
    return sealed(line.subarray(0, end))
  })
  return Buffer.concat(lines)
}

/** Each line includes its newline, which the last one may lack. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, at)
    const end = found === -1 ? bytes.length : found + 1
    lines.push(bytes.subarray(at, end))
    at = end
  }
  return lines
}

// --- Opening ----------------------------------------------------------------------------------

type Opened = { state: string | null } | { refused: TurnbellError }

/** The state is null if a line is complete but its signal cannot be read. */
async function opened(disk: MemoryDisk): Promise<Opened> {
  let store: FileSignalStore
  try {
    store = await open(disk)
  } catch (error) {
    if (!(error instanceof TurnbellError) || error.code !== 'store_damaged') throw error
    return { refused: error }
  }
  try {
    return { state: JSON.stringify(await stateOf(store)) }
  } catch (error) {
    if (!(error instanceof TurnbellError) || error.code !== 'store_damaged') throw error
    insist(SIGNAL_PLACE.test(error.detail), () => `it does not say where: ${error.detail}`)
    return { state: null }
  }
}

interface Segment {
  file: string
  bytes: Buffer
  head: SegmentEntry | null
}

/** Returns the segments that count: those not contained in a compacted one. */
function segmentsOf(disk: MemoryDisk): Segment[] {
  const all = disk
    .names()
    .filter((name) => name.endsWith('.jsonl'))
    .map((file) => ({ file, bytes: disk.content(file), head: headOf(disk.content(file)) }))
  const joining = all.flatMap(({ file, head }) =>
    head !== null && fileOf(head.segment) === file ? head : [],
  )
  return all.filter(
    ({ file }) => !joining.some(({ first, segment }) => fileOf(first) <= file && file < fileOf(segment)),
  )
}

function headOf(bytes: Buffer): SegmentEntry | null {
  const [line = Buffer.alloc(0)] = linesOf(bytes)
  if (line.at(-1) !== NEWLINE || !isValidLine(line, 0, line.length - 1)) return null
  try {
    const entry = parseEntry(line.toString())
    return entry.kind === 'segment' ? entry : null
  } catch {
    return null
  }
}

/** Merges their contents into one segment, where nothing can be out of order. */
function inOneSegment(disk: MemoryDisk): MemoryDisk {
  const segments = segmentsOf(disk)
  const lines = segments.flatMap(({ file, bytes, head }, at) => {
    const next = segments[at + 1]
    const follows = next?.head?.follows ?? null
    const counted = head?.revision === 0 && follows !== null ? bytes.subarray(0, follows.bytes) : bytes
    if (head?.revision === 0 && follows !== null)
      insist(counted.length === follows.bytes, () => `it opens, but of ${file} not all is there`)
    const before = segments[at - 1]?.file ?? fileOf(0)
    insist(
      head === null || fileOf(head.follows?.segment ?? 0) === before,
      () => `it opens, but ${file} does not follow ${before}`,
    )
    const whole = linesOf(counted).findIndex((line) => !isValidLine(line, 0, line.length - 1))
    const is_open = next === undefined && !((head?.revision ?? 0) > 0)
    insist(is_open || whole === -1, () => `it opens, but ${file} has a line that is not whole`)
    return is_open ? [counted] : [counted, COMMIT]
  })
  const one = new MemoryDisk()
  const first = { version: 1, segment: 1, first: 1, revision: 0, epoch: 1, follows: null }
  const head = sealedLine({ kind: 'segment', ...first, last_seq: 0, last_signal_id: null })
  one.put(fileOf(1), Buffer.concat([head, FAR, ...lines]))
  return one
}

async function saysTheSame(disk: MemoryDisk, state: string | null): Promise<void> {
  const found = await opened(inOneSegment(disk))
  insist('state' in found, () => `what it opens with cannot stand in one segment: ${JSON.stringify(found)}`)
  insist(
    found.state === state,
    () => `another state than its lines give: ${state?.slice(0, 300)} ${found.state?.slice(0, 300)}`,
  )
}

/** Throws unless the error names the position and no data was removed except data stored elsewhere. */
function isRefusal({ detail }: TurnbellError, before: MemoryDisk, after: MemoryDisk): void {
  const [, file = '', place = ''] = PLACE.exec(detail) ?? []
  insist(before.files.has(file), () => `it does not say where: ${detail}`)
  insist(Number(place) <= before.content(file).length, () => `that is behind the end of the file: ${detail}`)
  for (const { file: name, bytes } of segmentsOf(before)) {
    const left = after.readFile(name) ?? Buffer.alloc(0)
    const cut = after.readFile(`${name}.torn-${left.length}`) ?? Buffer.alloc(0)
    insist(Buffer.concat([left, cut]).equals(bytes), () => `it is refused, and ${name} was changed`)
  }
}

// --- Repair -----------------------------------------------------------------------------------

async function repaired(before: MemoryDisk, odd: boolean): Promise<string> {
  const disk = before.afterKill()
  let files: RepairedFile[]
  try {
    files = repairJournal(HOME, disk)
  } catch (error) {
    // A segment of another version cannot be interpreted.
    if (!(error instanceof TurnbellError) || !error.hint.includes('version')) throw error
    for (const name of before.names())
      insist(disk.content(name).equals(before.content(name)), () => `no repair, and ${name} was changed`)
    return 'of another version'
  }
  const segments = segmentsOf(before)
  for (const segment of segments) nothingLost(segment, disk, files)
  const standing = new Set(segmentsOf(disk).map(({ file }) => file))
  for (const { file } of segments)
    insist(standing.has(file), () => `repaired it does not count any more: ${file}`)
  const after = disk.afterKill()
  const found = await opened(disk)
  if (odd && 'refused' in found) {
    isRefusal(found.refused, after, disk)
    return 'odd'
  }
  insist('state' in found, () => `repaired it is refused again: ${JSON.stringify(found)}`)
  await saysTheSame(after, found.state)
  await goesOn(disk)
  return `repaired ${Math.min(files.length, 3)}`
}

/** Throws unless each line is completely in the file or in the quarantine; its head may have been rewritten. */
function nothingLost(
  { file, bytes, head }: Segment,
  after: MemoryDisk,
  files: readonly RepairedFile[],
): void {
  const left = after.content(file)
  if (left.equals(bytes)) return
  const repair = files.find((one) => one.file === file)
  insist(repair !== undefined, () => `${file} was changed, and nobody is told`)
  const aside = linesOf(after.content(repair.kept_in)).map((line) => asideIn(line.toString()))
  const isKept = (part: Buffer) =>
    left.includes(part) || aside.some((piece) => piece.includes(part) || piece.equals(part.subarray(0, -1)))
  for (const line of linesOf(bytes).slice(head === null ? 0 : 1)) {
    // A complete line may follow a line that is damaged to its end; it is judged separately.
    const is_kept = [Buffer.alloc(0), ...aside].some(
      (piece) => line.subarray(0, piece.length).equals(piece) && isKept(line.subarray(piece.length)),
    )
    insist(is_kept, () => `thrown away and kept nowhere, of ${file}: ${line.toString()}`)
  }
}

function asideIn(line: string): Buffer {
  const { text = '', base64 } = JSON.parse(line) as { text?: string; base64?: string }
  return base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64')
}

/** Throws unless a new signal is stored afterwards. */
async function goesOn(disk: MemoryDisk): Promise<void> {
  const signal = make.signal()
  const store = await open(disk)
  await store.append(signal)
  const again = await open(disk.afterKill())
  insist((await again.read(signal.signal_id)) !== null, () => 'the next signal is not there')
}
