/**
 * The index as a file, so that a restart need not read the journal again. It is a convenience: whatever
 * does not fit (another format, a segment that was rewritten since, a byte that is wrong) makes it worth
 * nothing, and the journal is read instead.
 *
 * A line of JSON that describes the rest, then the columns as they stand in memory, then a line with the
 * checksum of everything before it.
 */
import os from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Clock } from '../../ports/clock.ts'
import { writeFully, type Disk } from './disk.ts'
import type { Epoch } from './epoch.ts'
import { IdBook } from './id-book.ts'
import type { JournalEnd } from './journal.ts'
import { lineHolds, NEWLINE, sealedLine } from './line.ts'
import { Names } from './names.ts'
import { COLUMNS, Page, PAGE_BYTES, PAGE_ROWS, STATUS, type Column } from './rows.ts'
import { RowTable } from './row-table.ts'
import type { SegmentFile } from './segments.ts'
import { SignalIndex } from './signal-index.ts'

const FORMAT = 3
const NAME = 'index.bin'
const DRAFT = '.new'
/** The first line is mostly shorter. */
const FIRST_LOOK_BYTES = 64 * 1024
/** A piece is at most one page's columns, a quarter of a megabyte. */
const PIECES_AT_ONCE = 8

/**
 * By what a segment is known again. One that somebody has written to since may be damaged; the journal is
 * then read, as it is the reading that finds that out.
 */
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
  /** Everything before this place is in it. */
  end: JournalEnd
  segments: CoveredSegment[]
  rows_end: number
  pages: {
    number: number
    seq_base: number
    used: number
    in_order: number
    /** Null stands for infinity, which JSON does not have. */
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

/** The index as it is now, in pieces that later changes do not reach. `end` is where its journal ends. */
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
    segments: covered(segments, end),
    rows_end: index.rows.end,
    pages: pages.map(({ number, page }) => ({
      number,
      seq_base: page.seq_base,
      used: page.used,
      in_order: page.in_order,
      earliest_expiry: finite(page.earliest_expiry),
      earliest_finish: finite(page.earliest_finish),
      columns: COLUMNS.filter((column) => page.columns[column] !== undefined),
    })),
    times_apart: [...index.rows.apart],
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

export interface SnapshotPlace {
  disk: Disk
  clock: Pick<Clock, 'soon'>
  epoch: Epoch
  directory: string
  /** Asked between two pieces: give up. */
  stopping: () => boolean
}

/**
 * Puts the pieces of `takeSnapshot` in the place of the snapshot that was there, letting others work in
 * between. False when it was given up.
 */
export async function writeSnapshot(place: SnapshotPlace, pieces: readonly Uint8Array[]): Promise<boolean> {
  const { disk, clock, epoch, directory, stopping } = place
  disk.makeDirectory(directory)
  // Of its own name: a former owner may still be writing its last one.
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
  /** Everything before this place is in the index. */
  end: JournalEnd
  /**
   * The journal has grown since in the segment where the snapshot ends, so that its time of change says
   * nothing about the part before: that has to be checked. Null when it has not.
   */
  unchecked: JournalEnd | null
}

/** Null where there is none that fits the journal. */
export function loadSnapshot(
  disk: Disk,
  directory: string,
  segments: readonly SegmentFile[],
): LoadedSnapshot | null {
  for (const name of disk.list(directory)) {
    if (name.endsWith(DRAFT)) disk.remove(path.join(directory, name))
  }
  if (!disk.list(directory).includes(NAME)) return null
  const fd = disk.open(snapshotFile(directory), 'read')
  try {
    return restored(new Pieces(disk, fd), segments)
  } catch {
    // Made by something else; the journal knows everything.
    return null
  } finally {
    disk.close(fd)
  }
}

function restored(pieces: Pieces, segments: readonly SegmentFile[]): LoadedSnapshot | null {
  const head = pieces.line()
  if (!lineHolds(head, 0, head.length - 1)) return null
  const description = JSON.parse(head.toString('utf8')) as Description
  if (!fits(description, segments)) return null
  const index = restore(description, pieces)
  if (!pieces.endAsTheySay()) return null
  restoreCounts(index)
  const last = description.segments.at(-1)
  const found = segments.find(({ segment }) => segment === last?.segment)
  const grown = last?.changed_at !== found?.changed_at || last?.bytes !== found?.bytes
  return { index, end: description.end, unchecked: grown ? description.end : null }
}

/** Reads a snapshot from its beginning, each column to where it stays, and sums what it has read. */
class Pieces {
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

  /** The next line, its newline included. */
  line(): Buffer {
    for (let bytes = FIRST_LOOK_BYTES; ; bytes *= 2) {
      const buffer = Buffer.alloc(Math.min(bytes, this.size - this.at))
      this.disk.read(this.fd, buffer, this.at)
      const end = buffer.indexOf(NEWLINE) + 1
      if (end > 0) return this.taken(buffer.subarray(0, end))
      if (buffer.length < bytes) throw new Error('the snapshot ends in a line')
    }
  }

  next(bytes: number): ArrayBuffer {
    if (bytes > this.size - this.at) throw new Error('the snapshot ends too early')
    const piece = new Uint8Array(bytes)
    if (this.disk.read(this.fd, piece, this.at) < bytes) throw new Error('the snapshot was cut')
    return this.taken(piece).buffer
  }

  /** What is left is one line, and has the checksum of all before it. */
  endAsTheySay(): boolean {
    const { crc } = this
    const line = this.line()
    if (this.at !== this.size || !lineHolds(line, 0, line.length - 1)) return false
    const end = JSON.parse(line.toString('latin1')) as { kind?: unknown; body_crc?: unknown }
    return end.kind === 'snapshot_end' && end.body_crc === crc
  }

  private taken<B extends Uint8Array>(bytes: B): B {
    this.crc = crc32(bytes, this.crc)
    this.at += bytes.length
    return bytes
  }
}

function fits(description: Description, segments: readonly SegmentFile[]): boolean {
  if (description.kind !== 'snapshot' || description.format !== FORMAT) return false
  if (description.endianness !== os.endianness() || description.page_rows !== PAGE_ROWS) return false
  const here = covered(segments, description.end)
  return (
    here.length === description.segments.length &&
    description.segments.every((known, place) => {
      const found = here[place] as CoveredSegment
      return (
        found.segment === known.segment &&
        found.revision === known.revision &&
        found.epoch === known.epoch &&
        ((found.bytes === known.bytes && found.changed_at === known.changed_at) ||
          (found.segment === description.end.segment && found.bytes >= description.end.bytes))
      )
    })
  )
}

function covered(segments: readonly SegmentFile[], end: JournalEnd): CoveredSegment[] {
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

function restore(description: Description, pieces: Pieces): SignalIndex {
  const index = new SignalIndex()
  const next = (bytes: number) => pieces.next(bytes)
  index.rows.end = description.rows_end
  for (const known of description.pages) {
    const page = new Page(known.seq_base, next(PAGE_BYTES))
    for (const column of known.columns) page.columns[column] = new Uint32Array(next(PAGE_ROWS * 4))
    page.used = known.used
    page.in_order = known.in_order
    page.earliest_expiry = known.earliest_expiry ?? Infinity
    page.earliest_finish = known.earliest_finish ?? Infinity
    index.rows.pages[known.number] = page
  }
  const { id_slots, key_slots } = description
  index.ids = new IdBook(index.rows, new Int32Array(next(id_slots * 4)))
  index.keys = new RowTable(index.keyHash, new Int32Array(next(key_slots * 4)))
  for (const [key, ms] of description.times_apart) index.rows.apart.set(key, ms)
  index.identities = new Names(index.identities.names_max, description.identities)
  index.sessions = new Names(index.sessions.names_max, description.sessions)
  index.intents = new Names(index.intents.names_max, description.intents)
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

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
