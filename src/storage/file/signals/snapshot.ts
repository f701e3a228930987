/**
 * The index as a file, so that a restart need not read the whole journal. It is optional: if anything does not
 * match (another format, a segment rewritten after the snapshot, a wrong byte), it is ignored and the journal
 * is read instead.
 *
 * Format: a JSON line that describes the rest, then the columns as they are in memory, then a line with the
 * checksum of everything before it.
 */
import os from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import * as z from 'zod'
import type { Clock } from '../../../ports/clock.ts'
import { codeOf, writeFully, type Disk } from '../journal/disk.ts'
import { SEQ_MAX } from '../journal/journal-entries.ts'
import { isRaisable, type Epoch } from '../journal/fencing-epoch.ts'
import type { KnownEnd } from '../journal/high-water.ts'
import { IdIndex } from './index/id-index.ts'
import type { JournalEnd } from '../journal/journal.ts'
import { isValidLine, NEWLINE, sealedLine } from '../journal/sealed-line.ts'
import { StringTable } from './index/string-table.ts'
import { COLUMNS, Page, PAGE_BYTES, PAGE_ROWS, STATUS, type Column } from './index/signal-rows.ts'
import { RowHashTable } from './index/row-hash-table.ts'
import type { SegmentFile } from '../journal/segments.ts'
import { SignalIndex } from './index/signal-index.ts'
import { unpackUlid } from '../journal/ulid-words.ts'

const FORMAT = 3
const NAME = 'index.bin'
const DRAFT = '.new'
/** First read of the description line; most are shorter. */
const FIRST_LOOK_BYTES = 64 * 1024
/** Pieces written between two yields to the event loop. A piece is at most the columns of one page, 256 KiB. */
const PIECES_AT_ONCE = 8

/** Identifies a segment as unchanged. A segment changed after the snapshot may be damaged, so its lines are read again. */
interface CoveredSegment {
  segment: number
  revision: number
  epoch: number
  bytes: number
  changed_at: number
}

interface Description {
  kind: 'snapshot'
  format: number
  endianness: string
  page_rows: number
  /** The snapshot covers everything before this position. */
  end: JournalEnd
  segments: CoveredSegment[]
  rows_end: number
  pages: {
    number: number
    seq_base: number
    used: number
    in_order: number
    /** Null means infinity, which JSON cannot represent. */
    earliest_expiry: number | null
    earliest_finish: number | null
    columns: Column[]
  }[]
  times_apart: [string, number][]
  identities: string[]
  sessions: string[]
  intents: string[]
  leases: { number: number; drain_id: string; session_id: string; persona: number; rows: number[] }[]
  uses: [segment: number, signals: number, wasted: number][]
  count: number
  last_seq: number
  last_id: number[]
  id_slots: number
  key_slots: number
}

export function snapshotFile(directory: string): string {
  return path.join(directory, NAME)
}

/** Returns a copy of the index in pieces, unaffected by later changes. `end` is the end of its journal. */
export function takeSnapshot(
  index: SignalIndex,
  end: JournalEnd,
  segments: readonly SegmentFile[],
): Uint8Array[] {
  const pages = [...index.rows.pages.entries()].flatMap(([number, page]) =>
    page === undefined ? [] : [{ number, page }],
  )
  const description: Description = {
    kind: 'snapshot',
    format: FORMAT,
    endianness: os.endianness(),
    page_rows: PAGE_ROWS,
    end,
    segments: coveredSegments(segments, end),
    rows_end: index.rows.end,
    pages: pages.map(({ number, page }) => ({
      number,
      seq_base: page.seq_base,
      used: page.used,
      in_order: page.in_order,
      earliest_expiry: nullIfInfinite(page.earliest_expiry),
      earliest_finish: nullIfInfinite(page.earliest_finish),
      columns: COLUMNS.filter((column) => page.columns[column] !== undefined),
    })),
    times_apart: [...index.rows.overflow],
    identities: index.identities.list,
    sessions: index.sessions.list,
    intents: index.intents.list,
    leases: [...index.leases.all()].map((lease) => ({ ...lease, rows: [...lease.rows] })),
    uses: [...index.segments.by_segment].map(([segment, { signals, wasted }]) => [segment, signals, wasted]),
    count: index.count,
    last_seq: index.last_seq,
    last_id: [...index.last_id],
    id_slots: index.ids.raw.length,
    key_slots: index.keys.raw.length,
  }
  const columns = pages.flatMap(({ page }) => [
    new Uint8Array(page.buffer).slice(),
    ...COLUMNS.flatMap((column) => bytesOf(page.columns[column])),
  ])
  return [sealedLine(description), ...columns, ...bytesOf(index.ids.raw), ...bytesOf(index.keys.raw)]
}

export interface SnapshotTarget {
  disk: Disk
  clock: Pick<Clock, 'soon'>
  epoch: Epoch
  directory: string
  /** Checked between two pieces: true to give up. */
  stopping: () => boolean
}

/**
 * Writes the pieces of `takeSnapshot` and replaces the previous snapshot, yielding to the event loop between
 * pieces. Returns false if it was given up.
 */
export async function writeSnapshot(place: SnapshotTarget, pieces: readonly Uint8Array[]): Promise<boolean> {
  const { disk, clock, epoch, directory, stopping } = place
  disk.makeDirectory(directory)
  // Named by epoch, because a former owner may still be writing its last draft.
  const draft = `${snapshotFile(directory)}.${epoch.number}${DRAFT}`
  disk.remove(draft)
  const fd = disk.open(draft, 'new')
  try {
    let crc = 0
    let position = 0
    const put = (piece: Uint8Array) => {
      writeFully(disk, fd, piece, position)
      position += piece.length
    }
    for (const [number, piece] of pieces.entries()) {
      crc = crc32(piece, crc)
      put(piece)
      if (number % PIECES_AT_ONCE === 0) await new Promise<void>((resolve) => clock.soon(resolve))
      if (stopping()) return false
    }
    put(sealedLine({ kind: 'snapshot_end', body_crc: crc }))
    await new Promise<void>((resolve, reject) => {
      disk.sync(fd, (error) => (error === null ? resolve() : reject(error)))
    })
  } finally {
    disk.close(fd)
  }
  if (stopping()) return false
  epoch.check()
  disk.rename(draft, snapshotFile(directory))
  disk.syncDirectory(directory)
  return true
}

export interface LoadedSnapshot {
  index: SignalIndex
  /** The index covers everything before this position. */
  end: JournalEnd
  /**
   * Set if the segment in which the snapshot ends has grown after the snapshot: its modification time then proves nothing
   * about the earlier part, and the lines before this position must be checked. Otherwise null.
   */
  unchecked: JournalEnd | null
}

/** Returns null if there is no snapshot that matches the journal. */
export function loadSnapshot(
  disk: Disk,
  directory: string,
  segments: readonly SegmentFile[],
): LoadedSnapshot | null {
  for (const name of namesIn(disk, directory)) {
    if (name.endsWith(DRAFT)) disk.remove(path.join(directory, name))
  }
  // An unreadable snapshot is ignored, because the journal contains everything.
  return withSnapshotFile(disk, directory, (pieces) => loadMatching(pieces, segments))
}

/** Returns no names if the path is not a directory, because a start needs no snapshot. */
function namesIn(disk: Disk, directory: string): string[] {
  try {
    return disk.list(directory)
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/** Content of a snapshot, whether or not it matches the journal. */
export interface SnapshotSummary {
  known: KnownEnd
  /** Returns null if the rest of the file is damaged or has another format. */
  index(): SignalIndex | null
}

/** Returns null if there is no snapshot with a valid first line. */
export function readSnapshot(disk: Disk, directory: string): SnapshotSummary | null {
  const description = withSnapshotFile(disk, directory, readDescription)
  const ends = EndDescription.safeParse(description)
  if (!ends.success) return null
  const { end, segments, last_seq, last_id } = ends.data
  const last = segments.findLast(({ segment }) => segment === end.segment)
  const known: KnownEnd = {
    ...end,
    last_seq,
    epoch: last?.epoch ?? 0,
    exact: false,
    revision: last?.revision ?? 0,
    segment_epoch: last?.epoch ?? 0,
    last_signal_id: last_id.some((word) => word !== 0) ? unpackUlid(...last_id) : null,
  }
  return { known, index: () => withSnapshotFile(disk, directory, readIndex) }
}

const Count = z.number().int().min(0)
/** An epoch that cannot be raised is refused, because opening the store raises the highest recorded one. */
const RecordedEpoch = z
  .number()
  .int()
  .refine((number) => number <= 0 || isRaisable(number))
const EndDescription = z.object({
  end: z.object({ segment: Count, bytes: Count }),
  segments: z.array(z.object({ segment: Count, revision: z.number().int(), epoch: RecordedEpoch })),
  last_seq: Count.max(SEQ_MAX),
  last_id: z.tuple([Count, Count, Count, Count]),
})

function withSnapshotFile<T>(
  disk: Disk,
  directory: string,
  read: (pieces: PieceReader) => T | null,
): T | null {
  let fd: number | null = null
  try {
    fd = disk.open(snapshotFile(directory), 'read')
    return read(new PieceReader(disk, fd))
  } catch {
    return null
  } finally {
    if (fd !== null) disk.close(fd)
  }
}

function readDescription(pieces: PieceReader): Description | null {
  const head = pieces.line()
  if (!isValidLine(head, 0, head.length - 1)) return null
  const description = JSON.parse(head.toString('utf8')) as Description
  return description.kind === 'snapshot' ? description : null
}

function readIndex(pieces: PieceReader): SignalIndex | null {
  const description = readDescription(pieces)
  if (description === null || !isReadable(description)) return null
  const index = restore(description, pieces)
  return pieces.endsWithChecksum() ? index : null
}

function loadMatching(pieces: PieceReader, segments: readonly SegmentFile[]): LoadedSnapshot | null {
  const description = readDescription(pieces)
  if (description === null || !matchesJournal(description, segments)) return null
  const index = restore(description, pieces)
  if (!pieces.endsWithChecksum()) return null
  restoreCounts(index)
  const last = description.segments.at(-1)
  const current = segments.find(({ segment }) => segment === last?.segment)
  const grown = last?.changed_at !== current?.changed_at || last?.bytes !== current?.bytes
  return { index, end: description.end, unchecked: grown ? description.end : null }
}

/** Reads a snapshot from start to end, each column into its final buffer, and computes the checksum of the read bytes. */
class PieceReader {
  private readonly disk: Disk
  private readonly fd: number
  private readonly size: number
  private at = 0
  private crc = 0

  constructor(disk: Disk, fd: number) {
    this.disk = disk
    this.fd = fd
    this.size = disk.size(fd)
  }

  /** Returns the next line, newline included. */
  line(): Buffer {
    for (let bytes = FIRST_LOOK_BYTES; ; bytes *= 2) {
      const buffer = Buffer.alloc(Math.min(bytes, this.size - this.at))
      this.disk.read(this.fd, buffer, this.at)
      const end = buffer.indexOf(NEWLINE) + 1
      if (end > 0) return this.consume(buffer.subarray(0, end))
      if (buffer.length < bytes) throw new Error('the snapshot ends within a line')
    }
  }

  next(bytes: number): ArrayBuffer {
    if (bytes > this.size - this.at) throw new Error('the snapshot ends too early')
    const piece = new Uint8Array(bytes)
    if (this.disk.read(this.fd, piece, this.at) < bytes) throw new Error('the snapshot is truncated')
    return this.consume(piece).buffer
  }

  /** Returns whether the rest is one valid line with the checksum of everything before it. */
  endsWithChecksum(): boolean {
    const { crc } = this
    const line = this.line()
    if (this.at !== this.size || !isValidLine(line, 0, line.length - 1)) return false
    const end = JSON.parse(line.toString('latin1')) as { kind?: unknown; body_crc?: unknown }
    return end.kind === 'snapshot_end' && end.body_crc === crc
  }

  private consume<B extends Uint8Array>(bytes: B): B {
    this.crc = crc32(bytes, this.crc)
    this.at += bytes.length
    return bytes
  }
}

function matchesJournal(description: Description, segments: readonly SegmentFile[]): boolean {
  if (!isReadable(description)) return false
  const here = coveredSegments(segments, description.end)
  return (
    here.length === description.segments.length &&
    description.segments.every((covered, place) => {
      const current = here[place] as CoveredSegment
      return (
        current.segment === covered.segment &&
        current.revision === covered.revision &&
        current.epoch === covered.epoch &&
        ((current.bytes === covered.bytes && current.changed_at === covered.changed_at) ||
          (current.segment === description.end.segment && current.bytes >= description.end.bytes))
      )
    })
  )
}

/** Returns whether format, byte order and page size are the ones this process uses. */
function isReadable({ format, endianness, page_rows }: Description): boolean {
  return format === FORMAT && endianness === os.endianness() && page_rows === PAGE_ROWS
}

function coveredSegments(segments: readonly SegmentFile[], end: JournalEnd): CoveredSegment[] {
  return segments
    .filter(({ segment }) => segment <= end.segment)
    .map(({ segment, bytes, changed_at, head }) => ({
      segment,
      bytes,
      changed_at,
      revision: head?.revision ?? -1,
      epoch: head?.epoch ?? -1,
    }))
}

function restore(description: Description, pieces: PieceReader): SignalIndex {
  const index = new SignalIndex()
  const next = (bytes: number) => pieces.next(bytes)
  index.rows.end = description.rows_end
  for (const saved of description.pages) {
    const page = new Page(saved.seq_base, next(PAGE_BYTES))
    for (const column of saved.columns) page.columns[column] = new Uint32Array(next(PAGE_ROWS * 4))
    page.used = saved.used
    page.in_order = saved.in_order
    page.earliest_expiry = saved.earliest_expiry ?? Infinity
    page.earliest_finish = saved.earliest_finish ?? Infinity
    index.rows.pages[saved.number] = page
  }
  const { id_slots, key_slots } = description
  index.ids = new IdIndex(index.rows, new Int32Array(next(id_slots * 4)))
  index.keys = new RowHashTable(index.keyHash, new Int32Array(next(key_slots * 4)))
  for (const [key, ms] of description.times_apart) index.rows.overflow.set(key, ms)
  index.identities = new StringTable(index.identities.size_max, description.identities)
  index.sessions = new StringTable(index.sessions.size_max, description.sessions)
  index.intents = new StringTable(index.intents.size_max, description.intents)
  for (const lease of description.leases) index.leases.restore({ ...lease, rows: new Set(lease.rows) })
  for (const [segment, signals, wasted] of description.uses) {
    index.segments.by_segment.set(segment, { signals, wasted })
  }
  index.count = description.count
  index.last_seq = description.last_seq
  index.last_id.set(description.last_id)
  return index
}

function restoreCounts(index: SignalIndex): void {
  const { rows } = index
  for (const [number, page] of rows.pages.entries()) {
    if (page === undefined) continue
    const addressed = page.columns.to_session
    const slots = Math.min(PAGE_ROWS, rows.end - number * PAGE_ROWS)
    for (let slot = 0; slot < slots; slot += 1) {
      const row = number * PAGE_ROWS + slot
      if (index.isInProgress(row)) index.in_progress.add(page.to[slot] as number, 1)
      if (page.status[slot] === STATUS.expired) index.noteExpired(row)
      if (page.status[slot] !== STATUS.pending) continue
      index.pending.add(
        page.to[slot] as number,
        page.priority[slot] as number,
        row,
        addressed !== undefined && addressed[slot] !== 0,
      )
    }
  }
}

function bytesOf(values: Uint32Array | Int32Array | undefined): Uint8Array[] {
  if (values === undefined) return []
  return [new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice()]
}

function nullIfInfinite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
