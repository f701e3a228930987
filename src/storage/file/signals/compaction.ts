/**
 * Removes forgotten signals and their changes from sealed segments. Adjacent segments that have become
 * small are joined into one file.
 *
 * The new file is written as a draft, synced and renamed over the last segment it replaces; its first line
 * names the replaced segments. Before the rename nothing has changed; after it, an open recognises the other
 * segments as leftovers. Lines are copied unchanged.
 *
 * The order matters. A line about a signal may be removed only after the signal's own line, or in the same
 * rename. Otherwise a crash would leave a finished signal without its last change, and it would be
 * delivered again. So segments are rewritten from the oldest on, and a forgotten signal stays in the index
 * until its line is removed.
 */
import type { Clock } from '../../../ports/clock.ts'
import { writeFully, type Disk } from '../journal/disk.ts'
import { FORMAT_VERSION, parseEntry, type Entry, type SegmentEntry } from '../journal/journal-entries.ts'
import type { Epoch } from '../journal/fencing-epoch.ts'
import { sealedLine } from '../journal/sealed-line.ts'
import type { LineReader } from '../journal/line-reader.ts'
import { STATUS, type Location, type Row } from './index/signal-rows.ts'
import { LineScanner, visitLines } from '../journal/segment-scan.ts'
import type { SegmentFile } from '../journal/segments.ts'
import { createHeaderReader, isSignalLine } from './signal-line-header.ts'
import type { SignalIndex } from './index/signal-index.ts'

export interface CompactionDeps {
  disk: Disk
  directory: string
  clock: Pick<Clock, 'soon'>
  index: SignalIndex
  lines: LineReader
  epoch: Epoch
  segment_bytes_max: number
  /** Checked between two chunks: true when the store is closing. */
  stopping: () => boolean
  /** Resolves when every change made before the call is durable. */
  committed: () => Promise<void>
}

/** Small, so that rewriting a segment does not block the event loop for long. */
const CHUNK_BYTES = 256 * 1024
/** Segments beyond the number their bytes need, above which segments are joined whatever their waste. */
const SPARE_SEGMENTS = 16

/** Returns runs of adjacent segments to rewrite, each of which fits into one file. Empty if the waste is too small. */
export function planCompaction(
  index: SignalIndex,
  sealed: readonly SegmentFile[],
  segment_bytes_max: number,
  dead_ratio: number,
): SegmentFile[][] {
  const usage = (segment: SegmentFile) => index.segments.of(segment.segment)
  const sum = (count: (segment: SegmentFile) => number) =>
    sealed.reduce((total, segment) => total + count(segment), 0)
  const wasted = sum((segment) => usage(segment).wasted)
  const wasteful = wasted > 0 && wasted >= dead_ratio * sum((segment) => usage(segment).signals)
  const needed = Math.ceil(sum((segment) => segment.bytes) / segment_bytes_max)
  if (!wasteful && sealed.length <= needed + SPARE_SEGMENTS) return []

  const runs: SegmentFile[][] = []
  let bytes = 0
  for (const segment of sealed) {
    const { signals, wasted } = usage(segment)
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
  return runs.filter((run) => run.length > 1 || run.some((segment) => usage(segment).wasted > 0))
}

/** Rewrites one run into one file. An error before the rename changes nothing. */
export async function compactRun(deps: CompactionDeps, run: readonly SegmentFile[]): Promise<void> {
  const rewriting = new SegmentRewriter(deps, run)
  try {
    for (const segment of run) {
      for (const _ of rewriting.chunksOf(segment)) {
        await new Promise<void>((resolve) => deps.clock.soon(resolve))
        if (deps.stopping()) throw new Error('the store is closing')
      }
    }
    await rewriting.sync()
    // Otherwise a crash could keep the removal of a signal and lose the change that caused it.
    await deps.committed()
    deps.epoch.check()
  } catch (error) {
    rewriting.abandon()
    throw error
  }
  rewriting.putInPlace()
}

class SegmentRewriter {
  private readonly deps: CompactionDeps
  private readonly run: readonly SegmentFile[]
  private readonly target: SegmentFile
  private readonly draft: string
  private readonly fd: number
  private readonly readHeader = createHeaderReader()
  private output = Buffer.allocUnsafe(CHUNK_BYTES)
  private filled = 0
  private written = 0
  /** Rows of the signals that are kept, and the new offsets of their lines. */
  private readonly kept: Row[] = []
  private readonly kept_at: number[] = []
  private readonly results: { row: Row; from: Location; offset: number }[] = []
  private readonly gone = new Set<Row>()

  constructor(deps: CompactionDeps, run: readonly SegmentFile[]) {
    this.deps = deps
    this.run = run
    this.target = run.at(-1) as SegmentFile
    // Named by epoch: a hub that lost the journal without noticing must not remove its successor's draft.
    this.draft = `${this.target.file}.${deps.epoch.number}.new`
    deps.disk.remove(this.draft)
    this.fd = deps.disk.open(this.draft, 'new')
    this.keep(sealedLine(this.head()))
  }

  *chunksOf(segment: SegmentFile): Generator<void> {
    const { disk } = this.deps
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
      this.deps.disk.sync(this.fd, (error) => (error === null ? resolve() : reject(error)))
    })
  }

  abandon(): void {
    this.deps.disk.close(this.fd)
    this.deps.disk.remove(this.draft)
  }

  /** Runs in one tick of the event loop, so that no read uses an index that points into the replaced file. */
  putInPlace(): void {
    const { disk, directory, lines } = this.deps
    disk.close(this.fd)
    disk.rename(this.draft, this.target.file)
    for (const { segment } of this.run) lines.forget(segment)
    this.pointIndexHere()
    disk.syncDirectory(directory)
    for (const { file } of this.run) if (file !== this.target.file) disk.remove(file)
    disk.syncDirectory(directory)
  }

  private pointIndexHere(): void {
    const { index } = this.deps
    const { rows, segments } = index
    for (const { segment } of this.run) segments.by_segment.delete(segment)
    for (const [place, row] of this.kept.entries()) {
      const page = rows.page(row)
      const slot = rows.slot(row)
      page.segments[slot] = this.target.segment
      page.offsets[slot] = this.kept_at[place] as number
      segments.addStored(this.target.segment, page.lengths[slot] as number)
      // Forgotten during the rewrite: the next compaction removes it.
      if (page.status[slot] === STATUS.forgotten) {
        segments.addWasted(this.target.segment, page.lengths[slot] as number)
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
      epoch: this.deps.epoch.number,
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
    const { index } = this.deps
    const row = index.ids.find(this.readHeader(buffer, start, end).id)
    // Not in the index, or indexed at another line: an unreferenced copy.
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
          const row = this.deps.index.findAny(signal_id)
          if (row !== -1) this.results.push({ row, from, offset: to })
        }
        return
      }
      default:
        if (entry.signal_ids.some(this.isWanted)) line()
    }
  }

  /** Returns whether lines about this signal are still needed. */
  private readonly isWanted = (signal_id: string): boolean => {
    const row = this.deps.index.findAny(signal_id)
    return row !== -1 && !this.gone.has(row)
  }

  /** Copies the line and returns its offset in the new file. */
  private keep(line: Uint8Array): number {
    if (this.filled + line.length > this.output.length) this.flush()
    if (line.length > this.output.length) this.output = Buffer.allocUnsafe(line.length * 2)
    this.output.set(line, this.filled)
    const at = this.written + this.filled
    this.filled += line.length
    return at
  }

  private flush(): void {
    writeFully(this.deps.disk, this.fd, this.output.subarray(0, this.filled), this.written)
    this.written += this.filled
    this.filled = 0
  }
}
