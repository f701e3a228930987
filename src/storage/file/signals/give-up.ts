/**
 * Gives up the missing end of a journal for `--repair`: lists the lost signals, and begins a segment whose first line
 * continues above all assigned seqs. Call it after the existing files are repaired.
 */
import path from 'node:path'
import { readCompleteness, openByRecipient, type Losses } from '../journal/completeness.ts'
import { replaceFile, type Disk } from '../journal/disk.ts'
import { FORMAT_VERSION, type SegmentEntry } from '../journal/journal-entries.ts'
import { SEQ_GAP } from '../journal/high-water.ts'
import { sealedLine } from '../journal/sealed-line.ts'
import { freeName } from './recovery.ts'
import { LineScanner } from '../journal/segment-scan.ts'
import { segmentFile, sortSegments, type SegmentFile } from '../journal/segments.ts'
import { createHeaderReader, isSignalLine } from './signal-line-header.ts'

export interface GivenUp {
  /** Number of known lost signals; null if there is no snapshot to compare with. */
  lost: number | null
  /** Number of lost signals that were not completed, by recipient. */
  not_completed: Record<string, number>
  /** File that lists the lost signals, one JSON object per line; null if none is known. */
  listed_in: string | null
  /** Seq that the journal had reached at least. */
  known_seq: number
  /** Seq at which the journal ends now. */
  last_seq: number
  /** Later signals get higher seqs than this. */
  goes_on_after: number
}

/**
 * Returns null if nothing is missing. `end_was_damaged`: before the repair the last segment was too short or had damaged
 * lines.
 */
export function giveUpLost(hub_directory: string, disk: Disk, end_was_damaged = false): GivenUp | null {
  const directory = path.join(hub_directory, 'journal')
  const completeness = readCompleteness(disk, hub_directory)
  const { known, segments, missing, seq_max } = completeness
  if (known.length === 0) return null
  const losses = completeness.losses(segments)
  const seqs_are_exact = seq_max === losses.known_seq
  const ends_as_known = missing === null && losses.last_seq >= losses.known_seq
  if (ends_as_known && (!end_was_damaged || seqs_are_exact)) return null
  const last = sortSegments(segments).live.at(-1) ?? null
  const before = last?.segment ?? 0
  const highest = known.map(({ last_signal_id }) => last_signal_id ?? '').reduce((a, b) => (a > b ? a : b))
  const gap = seqs_are_exact ? 0 : SEQ_GAP
  const goes_on_after = Math.max(losses.known_seq, losses.last_seq) + gap
  const head: SegmentEntry = {
    kind: 'segment',
    version: FORMAT_VERSION,
    segment: Math.max(before, ...known.map(({ segment }) => segment)) + 1,
    // Covers the missing segments.
    first: before + 1,
    revision: 1,
    epoch: Math.max(1, ...known.map(({ epoch }) => epoch)),
    follows: last === null ? null : { segment: before, bytes: wholeBytes(disk, last) },
    last_seq: goes_on_after,
    last_signal_id: highest === '' ? null : highest,
  }
  disk.makeDirectory(directory)
  const listed_in = writeList(disk, directory, losses)
  replaceFile(disk, segmentFile(directory, head.segment), [sealedLine(head)])
  return {
    lost: losses.signals?.length ?? null,
    not_completed: Object.fromEntries(openByRecipient(losses.signals ?? [])),
    listed_in,
    known_seq: losses.known_seq,
    last_seq: losses.last_seq,
    goes_on_after,
  }
}

/** Summarises the loss in one log message for the operator. */
export function describeGivenUp(given_up: GivenUp): string {
  const { lost, not_completed, listed_in, known_seq, last_seq, goes_on_after } = given_up
  const whose = Object.entries(not_completed).map(([identity, count]) => `${identity} ${count}`)
  const open = whose.length === 0 ? 'all of them completed' : `not completed: ${whose.join(', ')}`
  const what =
    lost === null
      ? 'the lost signals are not known'
      : lost === 0
        ? 'no known signal is lost'
        : `known lost signals: ${lost} (${open})`
  const where = listed_in === null ? '' : `, listed in ${listed_in}`
  const ends = `it had reached at least seq ${known_seq} and now ends at ${last_seq}`
  return `missing end of the journal given up: ${ends}; ${what}${where}; seqs continue after ${goes_on_after}`
}

function writeList(disk: Disk, directory: string, { signals, known_seq }: Losses): string | null {
  if (signals === null || signals.length === 0) return null
  const file = freeName(disk, directory, path.join(directory, `lost-${known_seq}.jsonl`))
  replaceFile(
    disk,
    file,
    signals.map((signal) => Buffer.from(`${JSON.stringify(signal)}\n`)),
  )
  return file
}

/** Returns the length without a torn end and without an incomplete group, whose senders received no receipt. */
function wholeBytes(disk: Disk, { file, bytes }: SegmentFile): number {
  const readHeader = createHeaderReader()
  let open_group: number | null = null
  const fd = disk.open(file, 'read')
  try {
    const bad = new LineScanner(disk).scan(fd, 0, bytes, (buffer, start, end, offset) => {
      const is_open = isSignalLine(buffer, start) && readHeader(buffer, start, end).left > 0
      open_group = is_open ? (open_group ?? offset) : null
    })
    return open_group ?? bad?.offset ?? bytes
  } finally {
    disk.close(fd)
  }
}
