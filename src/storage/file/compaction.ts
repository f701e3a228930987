/**
 * Takes forgotten signals, and what happened to them, out of sealed segments. Neighbours that have become
 * small are joined into one file.
 *
 * A file is written aside, synced and renamed over the last of those it stands for; its first line says
 * which that are. Until the rename nothing has changed; after it, an open takes the others for what they
 * are, leftovers. Lines are copied as they are.
 *
 * The order matters. A line about a signal may go only when the signal's own line has gone before or goes
 * in the same rename: otherwise a crash would leave a finished signal without its end, and it would be
 * handed out again. So segments are taken from the oldest on, and a forgotten signal stays in the index
 * until its line is gone.
 */
import type { Clock } from '../../ports/clock.ts'
import { writeFully, type Disk } from './disk.ts'
import { FORMAT_VERSION, parseEntry, type Entry, type SegmentEntry } from './entries.ts'
import type { Epoch } from './epoch.ts'
import { sealedLine } from './line.ts'
import type { LineReader } from './line-reader.ts'
import { STATUS, type Location, type Row } from './rows.ts'
import { LineScanner, visitLines } from './scan.ts'
import type { SegmentFile } from './segments.ts'
import { createHeaderReader, isSignalLine } from './signal-header.ts'
import type { SignalIndex } from './signal-index.ts'

export interface CompactionNeeds {
  disk: Disk
  directory: string
  clock: Pick<Clock, 'soon'>
  index: SignalIndex
  lines: LineReader
  epoch: Epoch
  segment_bytes_max: number
  /** Asked between two chunks: the store is closing. */
  stopping: () => boolean
}

/** Small, so that the loop is not held up for long while a segment is rewritten. */
const CHUNK_BYTES = 256 * 1024
/** This many more segments than their bytes need are joined, whatever they hold. */
const SPARE_SEGMENTS = 16

/** What to rewrite: runs of neighbours that fit into one file. None while it would not be worth it. */
export function planCompaction(
  index: SignalIndex,
  sealed: readonly SegmentFile[],
  segment_bytes_max: number,
  dead_ratio: number,
): SegmentFile[][] {
  const use = (segment: SegmentFile) => index.segments.of(segment.segment)
  const sum = (count: (segment: SegmentFile) => number) =>
    sealed.reduce((total, segment) => total + count(segment), 0)
  const wasted = sum((segment) => use(segment).wasted)
  const wasteful = wasted > 0 && wasted >= dead_ratio * sum((segment) => use(segment).signals)
  const needed = Math.ceil(sum((segment) => segment.bytes) / segment_bytes_max)
  if (!wasteful && sealed.length <= needed + SPARE_SEGMENTS) return []

  const runs: SegmentFile[][] = []
  let bytes = 0
  for (const segment of sealed) {
    const { signals, wasted } = use(segment)
    const kept = signals === 0 ? segment.bytes : segment.bytes * (1 - wasted / signals)
    const run = runs.at(-1)
    if (run === undefined || bytes + kept > segment_bytes_max) {
      runs.push([segment])
      bytes = kept
    } else {
      run.push(segment)
      bytes += kept
    }
  }
  return runs.filter((run) => run.length > 1 || run.some((segment) => use(segment).wasted > 0))
}

/** Rewrites one run. What throws before the rename leaves everything as it was. */
export async function compactRun(needs: CompactionNeeds, run: readonly SegmentFile[]): Promise<void> {
  const rewriting = new Rewriting(needs, run)
  try {
    for (const segment of run) {
      for (const _ of rewriting.chunksOf(segment)) {
        await new Promise<void>((resolve) => needs.clock.soon(resolve))
        if (needs.stopping()) throw new Error('the store is closing')
      }
    }
    await rewriting.sync()
    needs.epoch.check()
  } catch (error) {
    rewriting.abandon()
    throw error
  }
  rewriting.putInPlace()
}

class Rewriting {
  private readonly needs: CompactionNeeds
  private readonly run: readonly SegmentFile[]
  private readonly target: SegmentFile
  private readonly draft: string
  private readonly fd: number
  private readonly readHeader = createHeaderReader()
  private output = Buffer.allocUnsafe(CHUNK_BYTES)
  private filled = 0
  private written = 0
  /** Signals that stay, and where they stand now. */
  private readonly kept: Row[] = []
  private readonly kept_at: number[] = []
  private readonly results: { row: Row; from: Location; offset: number }[] = []
  private readonly gone = new Set<Row>()

  constructor(needs: CompactionNeeds, run: readonly SegmentFile[]) {
    this.needs = needs
    this.run = run
    this.target = run.at(-1) as SegmentFile
    // A hub that has lost the journal without notice must not take its successor's away.
    this.draft = `${this.target.file}.${needs.epoch.number}.new`
    needs.disk.remove(this.draft)
    this.fd = needs.disk.open(this.draft, 'new')
    this.keep(sealedLine(this.head()))
  }

  *chunksOf(segment: SegmentFile): Generator<void> {
    const { disk } = this.needs
    const fd = disk.open(segment.file, 'read')
    const scanner = new LineScanner(disk, CHUNK_BYTES)
    try {
      for (const part of scanner.parts(fd, 0, segment.bytes)) {
        const bad =
          'reason' in part
            ? part
            : visitLines(scanner.chunk, part.filled, part.offset, (buffer, start, end, offset) =>
                this.line(segment.segment, buffer, start, end, offset),
              )
        if (bad !== null) throw new Error(`${segment.file} at byte ${bad.offset}: ${bad.reason}`)
        this.flush()
        yield
      }
    } finally {
      disk.close(fd)
    }
  }

  sync(): Promise<void> {
    this.flush()
    return new Promise((resolve, reject) => {
      this.needs.disk.sync(this.fd, (error) => (error === null ? resolve() : reject(error)))
    })
  }

  abandon(): void {
    this.needs.disk.close(this.fd)
    this.needs.disk.remove(this.draft)
  }

  /** In one turn of the loop, so that nobody reads by an index that points into the other file. */
  putInPlace(): void {
    const { disk, directory, lines } = this.needs
    disk.close(this.fd)
    disk.rename(this.draft, this.target.file)
    for (const { segment } of this.run) lines.forget(segment)
    this.pointIndexHere()
    disk.syncDirectory(directory)
    for (const { file } of this.run) if (file !== this.target.file) disk.remove(file)
    disk.syncDirectory(directory)
  }

  private pointIndexHere(): void {
    const { index } = this.needs
    const { rows, segments } = index
    for (const { segment } of this.run) segments.by_segment.delete(segment)
    for (const [place, row] of this.kept.entries()) {
      const page = rows.page(row)
      const slot = rows.slot(row)
      page.segments[slot] = this.target.segment
      page.offsets[slot] = this.kept_at[place] as number
      segments.use(this.target.segment, page.lengths[slot] as number)
      // Forgotten while this was being written: its turn comes next time.
      if (page.status[slot] === STATUS.forgotten) {
        segments.waste(this.target.segment, page.lengths[slot] as number)
      }
    }
    const { segment } = this.target
    index.moveResults(
      this.results.map(({ row, from, offset }) => ({
        row,
        from,
        to: { segment, offset, length: from.length },
      })),
    )
    for (const row of this.gone) index.drop(row)
  }

  private head(): SegmentEntry {
    const heads = this.run.map(({ head }) => head as SegmentEntry)
    const [first] = heads as [SegmentEntry]
    return {
      kind: 'segment',
      version: FORMAT_VERSION,
      segment: this.target.segment,
      first: first.first,
      revision: Math.max(...heads.map(({ revision }) => revision)) + 1,
      epoch: this.needs.epoch.number,
      follows: first.follows,
      last_seq: first.last_seq,
      last_signal_id: first.last_signal_id,
    }
  }

  private line(segment: number, buffer: Buffer, start: number, end: number, offset: number): void {
    if (isSignalLine(buffer, start)) this.signal(segment, buffer, start, end, offset)
    else this.entry(segment, parseEntry(buffer.toString('utf8', start, end)), buffer, start, end, offset)
  }

  private signal(segment: number, buffer: Buffer, start: number, end: number, offset: number): void {
    const { index } = this.needs
    const row = index.ids.find(this.readHeader(buffer, start, end).id)
    // Not in the index, or there by another line: a copy that nothing points at.
    if (row === -1) return
    const at = index.rows.location(row)
    if (at.segment !== segment || at.offset !== offset) return
    if (index.rows.status(row) === STATUS.forgotten) {
      this.gone.add(row)
      return
    }
    this.kept.push(row)
    this.kept_at.push(this.keep(buffer.subarray(start, end + 1)))
  }

  private entry(
    segment: number,
    entry: Entry,
    buffer: Buffer,
    start: number,
    end: number,
    offset: number,
  ): void {
    const line = () => this.keep(buffer.subarray(start, end + 1))
    switch (entry.kind) {
      case 'segment':
      case 'commit':
      case 'closed':
        return
      case 'forget':
        line()
        return
      case 'release':
        if (entry.pending.some(this.isWanted) || entry.dead.some(this.isWanted)) line()
        return
      case 'complete': {
        if (!entry.signal_ids.some(this.isWanted)) return
        const to = line()
        if (entry.result === undefined) return
        const from = { segment, offset, length: end - start }
        for (const signal_id of entry.signal_ids) {
          const row = this.needs.index.findAny(signal_id)
          if (row !== -1) this.results.push({ row, from, offset: to })
        }
        return
      }
      default:
        if (entry.signal_ids.some(this.isWanted)) line()
    }
  }

  /** Whether what happened to this signal still has to be told. */
  private readonly isWanted = (signal_id: string): boolean => {
    const row = this.needs.index.findAny(signal_id)
    return row !== -1 && !this.gone.has(row)
  }

  /** Answers where in the new file the line stands. */
  private keep(line: Uint8Array): number {
    if (this.filled + line.length > this.output.length) this.flush()
    if (line.length > this.output.length) this.output = Buffer.allocUnsafe(line.length * 2)
    this.output.set(line, this.filled)
    const at = this.written + this.filled
    this.filled += line.length
    return at
  }

  private flush(): void {
    writeFully(this.needs.disk, this.fd, this.output.subarray(0, this.filled), this.written)
    this.written += this.filled
    this.filled = 0
  }
}
