/** Opens the file-backed signal store: replays the journal into the index and wires the parts together. */
import path from 'node:path'
import type { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../../ports/clock.ts'
import { RETENTION, type Retention } from '../../retention.ts'
import { systemDisk, type Disk } from '../journal/disk.ts'
import { checkComplete, checkLastSeq, type Completeness } from '../journal/completeness.ts'
import { raiseEpoch, readEpoch } from '../journal/fencing-epoch.ts'
import { createHighWaterMark, findMissingPart, removeDrafts, type KnownEnd } from '../journal/high-water.ts'
import { Journal, type JournalEnd, type LastAssigned } from '../journal/journal.ts'
import { IdempotencyIndex } from './index/idempotency-index.ts'
import { LineReader } from '../journal/line-reader.ts'
import { StageMarks } from './index/stage-marks.ts'
import { Maintenance } from './maintenance.ts'
import { checkedSegments, checkLines, replayJournal, type CutNotice } from './recovery.ts'
import { listSegments, segmentFile, type SegmentFile } from '../journal/segments.ts'
import { createSignalOperations, type FileSignalStore } from './signal-operations.ts'
import { SignalIndex } from './index/signal-index.ts'
import { loadSnapshot } from './snapshot.ts'
import { whenWritable } from '../journal/wait-until-writable.ts'

export interface FileSignalStoreOptions {
  /** Holds `journal/` and `snapshot/`. */
  directory: string
  clock: Pick<Clock, 'now' | 'soon' | 'after'>
  disk?: Disk
  retention?: Retention
  segment_bytes_max?: number
  commit_bytes_max?: number
  /** Called after a torn tail was cut off and kept in another file. */
  onCut?: (notice: CutNotice) => void
  /**
   * Called when the store stops writing for good. Called a second time if a disk error was the first reason and another
   * hub takes the journal afterwards.
   */
  onFatal?: (error: TurnbellError) => void
  /** Called after `onFatal` once reopening the store would succeed. Never called if another hub has the journal. */
  onWritable?: () => void
}

/** The position before the first segment. */
const JOURNAL_START: JournalEnd = { segment: 0, bytes: 0 }

/**
 * Opens the journal and fences off the previous owner. The caller must hold the directory's lock.
 *
 * @throws `store_damaged` naming file and byte offset.
 */
export async function openFileSignalStore(options: FileSignalStoreOptions): Promise<FileSignalStore> {
  const { clock, disk = systemDisk, retention = RETENTION } = options
  const segment_bytes_max = options.segment_bytes_max ?? LIMITS.segment_bytes_max
  const directory = path.join(options.directory, 'journal')
  const snapshot_directory = path.join(options.directory, 'snapshot')
  // Before any directory is created: a person who restores a missing journal directory must not find a new one there.
  const completeness = checkComplete(disk, options.directory)
  disk.makeDirectory(directory)
  removeDrafts(disk, options.directory)
  const epoch = raiseEpoch(disk, directory, highestEpoch(completeness))
  const lines = new LineReader(disk, directory)
  const { segments, index, start, end } = recover(options, disk, lines, completeness)

  const lastGiven = (): LastAssigned => ({ last_seq: index.last_seq, last_signal_id: index.last_signal_id })
  const mark = createHighWaterMark({ disk, hub_directory: options.directory, epoch, segments })
  const opened_with = lastGiven()
  await mark.write(mark.describe(end, opened_with, false))

  const marks = new StageMarks(index)
  let waiting: Timer | null = null
  const journal: Journal = new Journal(
    {
      disk,
      directory,
      clock,
      epoch,
      lines,
      segment_bytes_max,
      commit_bytes_max: options.commit_bytes_max ?? LIMITS.commit_bytes_max,
      last: lastGiven,
      beforeCommit: () => marks.writeTo(journal),
      onSynced(bytes) {
        index.synced(journal.durableEnd)
        maintenance.addDurableBytes(bytes)
      },
      onSegment: (last) => void mark.write(mark.describe(journal.durableEnd, last, false)),
      onDead(error) {
        maintenance.stop()
        // On the second call another hub has the journal, and a trial write would disturb it.
        waiting?.cancel()
        index.undo(journal.durableEnd)
        // The number of assigned seqs is known only now; recording it lets a repair continue above it.
        if (!journal.filesAreIntact()) {
          const { durableEnd } = journal
          void mark.write(mark.describe(durableEnd, index.lastAssignedBefore(durableEnd, opened_with), true))
        }
        options.onFatal?.(error)
        const { onWritable } = options
        if (error.code === 'store_fenced' || onWritable === undefined) return
        const isWhole = () =>
          couldOpen(disk, options.directory, mark.describe(journal.durableEnd, lastGiven(), true))
        waiting = whenWritable({ disk, directory: options.directory, clock, isWhole }, onWritable)
      },
    },
    end,
  )
  const maintenance: Maintenance = new Maintenance(
    { disk, directory, snapshot_directory, clock, index, lines, epoch, segment_bytes_max, journal },
    { tail: bytesAfter(segments, start), total: bytesAfter(segments, JOURNAL_START) },
  )
  maintenance.snapshotIfDue()
  const close = async () => {
    maintenance.stop()
    const clean = await journal.close()
    await (clean ? mark.write(mark.describe(journal.durableEnd, lastGiven(), true)) : mark.settled())
    // Because a failed close also starts the waiting.
    waiting?.cancel()
    await maintenance.close(clean)
    lines.close()
  }
  return createSignalOperations({ index, journal, marks, maintenance, clock, retention, close })
}

/** Reads the snapshot and the journal after it into an index. The journal is read from `start` to `end`. */
function recover(
  options: FileSignalStoreOptions,
  disk: Disk,
  lines: LineReader,
  completeness: Completeness,
): { segments: SegmentFile[]; index: SignalIndex; start: JournalEnd; end: JournalEnd } {
  const { onCut = () => {} } = options
  const { syncedBytes } = completeness
  const directory = path.join(options.directory, 'journal')
  const segments = checkedSegments(disk, directory)
  const snapshot = loadSnapshot(disk, path.join(options.directory, 'snapshot'), segments)
  if (snapshot?.unchecked) checkLines(disk, segments, snapshot.unchecked)
  const index = snapshot?.index ?? new SignalIndex()
  const keys = new IdempotencyIndex(index, (at) => lines.read(at))
  const start = snapshot?.end ?? JOURNAL_START
  const end = replayJournal({ disk, directory, index, keys, syncedBytes, onCut }, segments, start)
  checkLastSeq(completeness, index.last_seq, directory, () => completeness.losses(segments))
  return { segments, index, start, end }
}

/** Returns the highest epoch that any file records. If the epoch file is missing, a new epoch must be above it. */
function highestEpoch({ known, segments }: Completeness): number {
  return Math.max(0, ...segments.map(({ head }) => head?.epoch ?? 0), ...known.map(({ epoch }) => epoch))
}

/** Returns whether a store opened now would find everything this one has stored. */
function couldOpen(disk: Disk, hub_directory: string, known: KnownEnd): boolean {
  try {
    const directory = path.join(hub_directory, 'journal')
    const fileOf = (segment: number) => segmentFile(directory, segment)
    checkComplete(disk, hub_directory)
    readEpoch(disk, directory)
    return findMissingPart(known, listSegments(disk, directory), fileOf) === null
  } catch {
    return false
  }
}

function bytesAfter(segments: readonly SegmentFile[], { segment, bytes }: JournalEnd): number {
  return segments
    .filter((one) => one.segment >= segment)
    .reduce((sum, one) => sum + one.bytes - (one.segment === segment ? bytes : 0), 0)
}
