/**
 * Checks whether the journal still has everything that was durable: compares it with the high-water mark and the
 * snapshot, which record where it ended. A journal without its end looks complete from the inside.
 */
import path from 'node:path'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Seq } from '../../../contracts/ids.ts'
import type { Disk } from './disk.ts'
import { parseEntry, type SegmentEntry } from './journal-entries.ts'
import {
  knownBytes,
  findMissingPart,
  readHighWater,
  SEQ_GAP,
  type KnownEnd,
  type MissingPart,
} from './high-water.ts'
import { STATUS, type Row } from '../signals/index/signal-rows.ts'
import { LineScanner } from './segment-scan.ts'
import { listSegments, segmentFile, sortSegments, type SegmentFile } from './segments.ts'
import { createHeaderReader, isSignalLine } from '../signals/signal-line-header.ts'
import { SignalIndex } from '../signals/index/signal-index.ts'
import { readSnapshot, type SnapshotSummary } from '../signals/snapshot.ts'
import { packUlid } from './ulid-words.ts'

export interface LostSignal {
  signal_id: string
  seq: Seq
  to: string
  from: string
  created_at: string
  /** True if it was pending, or drained and not completed. */
  open: boolean
}

export interface Losses {
  /** Seq at which the journal ends now. */
  last_seq: Seq
  /** Highest seq that it is known to have reached. */
  known_seq: Seq
  /** Missing signals that the snapshot contains; null if there is no snapshot. */
  signals: LostSignal[] | null
}

export interface Completeness {
  known: readonly KnownEnd[]
  segments: readonly SegmentFile[]
  /** Returns how many bytes of the segment are known to have been durable. */
  syncedBytes: (segment: number, head: SegmentEntry | null) => number
  /** Returns the highest known revision of the segment. */
  revisionOf(segment: number): number
  /** The part that is missing from the segments; null if nothing is known to be missing. */
  missing: MissingPart | null
  /** Returns the lost signals. Reads all segments. */
  losses(segments: readonly SegmentFile[]): Losses
  /** The highest seq that may have been assigned. */
  seq_max: Seq
}

/**
 * Changes nothing. Reads the snapshot, `high-water.json` and the first line of each segment.
 * @throws `store_damaged` if a segment is not a file
 */
export function readCompleteness(disk: Disk, hub_directory: string): Completeness {
  const directory = path.join(hub_directory, 'journal')
  const segments = listSegments(disk, directory)
  const fileOf = (segment: number) => segmentFile(directory, segment)
  const snapshot = readSnapshot(disk, path.join(hub_directory, 'snapshot'))
  const high_water = readHighWater(disk, hub_directory)
  const known = [high_water, snapshot?.known ?? null].filter((one) => one !== null)
  const known_seq = Math.max(0, ...known.map(({ last_seq }) => last_seq))
  const is_exact = known.some(({ exact, last_seq }) => exact && last_seq === known_seq)
  return {
    known,
    segments,
    syncedBytes: (segment, head) => Math.max(0, ...known.map((one) => knownBytes(one, segment, head))),
    revisionOf: (segment) => Math.max(0, ...known.map((one) => (one.segment === segment ? one.revision : 0))),
    missing: known.map((one) => findMissingPart(one, segments, fileOf)).find((part) => part !== null) ?? null,
    losses: (segments) => lossesOf(disk, segments, known_seq, snapshot),
    seq_max: known.length === 0 || is_exact ? known_seq : known_seq + SEQ_GAP,
  }
}

/** @throws `store_damaged` with the missing part and the lost signals by recipient. */
export function checkComplete(disk: Disk, hub_directory: string): Completeness {
  const completeness = readCompleteness(disk, hub_directory)
  const { missing, segments } = completeness
  if (missing !== null) throw incompleteError(missing, completeness.losses(segments))
  return completeness
}

/** Checks, after the replay, that complete segments also reach the known seq. @throws `store_damaged` */
export function checkLastSeq(
  { known }: Completeness,
  last_seq: Seq,
  directory: string,
  losses: () => Losses,
): void {
  const known_seq = Math.max(0, ...known.map((one) => one.last_seq))
  if (last_seq >= known_seq) return
  throw incompleteError({ file: directory, offset: 0, reason: 'the newest lines are missing' }, losses())
}

function incompleteError({ file, offset, reason }: MissingPart, losses: Losses): TurnbellError {
  return new TurnbellError('store_damaged', {
    detail: `${file} at byte ${offset}: ${reason}. ${describeLosses(losses)}`,
    hint: 'Restore the files unchanged from a copy and start the hub. Or give them up: run `turnbell down`, then `turnbell hub --repair`, which lists the lost signals and continues with higher seqs.',
  })
}

function describeLosses({ last_seq, known_seq, signals }: Losses): string {
  const ends = `The journal reached at least seq ${known_seq} and now ends at ${last_seq}`
  if (signals === null) return `${ends}; the missing signals are not known.`
  if (signals.length === 0) return `${ends}; no known signal is missing, only changes of some signals.`
  const open = [...openByRecipient(signals)].map(([identity, number]) => `${identity} ${number}`)
  const whose = open.length === 0 ? 'all of them completed' : `not completed: ${open.join(', ')}`
  return `${ends}; known missing signals: ${signals.length} (${whose}).`
}

/** Returns the number of lost signals that were not completed, by recipient. */
export function openByRecipient(signals: readonly LostSignal[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { to, open } of signals) if (open) counts.set(to, (counts.get(to) ?? 0) + 1)
  return new Map([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function lossesOf(
  disk: Disk,
  segments: readonly SegmentFile[],
  known_seq: Seq,
  snapshot: SnapshotSummary | null,
): Losses {
  const remaining = indexSignals(disk, segments)
  const before = snapshot?.index() ?? null
  const signals =
    before === null ? null : [...lostRows(before, remaining)].map((row) => lostSignal(before, row))
  return { last_seq: remaining.last_seq, known_seq, signals }
}

/** Indexes the signals in these segments without their changes, each segment up to its first damage. */
function indexSignals(disk: Disk, segments: readonly SegmentFile[]): SignalIndex {
  const index = new SignalIndex()
  const scanner = new LineScanner(disk)
  const readHeader = createHeaderReader()
  const id = new Uint32Array(4)
  for (const { file, segment, bytes } of sortSegments(segments).live) {
    const fd = disk.open(file, 'read')
    try {
      scanner.scan(fd, 0, bytes, (buffer, start, end, offset) => {
        if (isSignalLine(buffer, start)) {
          index.addSignal(readHeader(buffer, start, end), segment, offset, end - start)
          return
        }
        const entry = parseEntry(buffer.toString('utf8', start, end))
        if (entry.kind !== 'segment') return
        if (entry.last_signal_id !== null) packUlid(entry.last_signal_id, id)
        else id.fill(0)
        index.raiseLast(entry.last_seq, id)
      })
    } finally {
      disk.close(fd)
    }
  }
  return index
}

function* lostRows(before: SignalIndex, remaining: SignalIndex): Generator<Row> {
  for (let row = 0; row < before.rows.end; row += 1) {
    if (!before.rows.holds(row)) continue
    const status = before.rows.status(row)
    if (status === STATUS.gone || status === STATUS.forgotten) continue
    if (remaining.findAny(before.rows.idText(row)) === -1) yield row
  }
}

function lostSignal(index: SignalIndex, row: Row): LostSignal {
  const { rows } = index
  const status = rows.status(row)
  return {
    signal_id: rows.idText(row),
    seq: rows.seq(row),
    to: index.to(row),
    from: index.from(row),
    created_at: new Date(rows.page(row).created_ms[rows.slot(row)] as number).toISOString(),
    open: status === STATUS.pending || status === STATUS.acked,
  }
}
