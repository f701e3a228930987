/** The signal store of a hub's home: opens the journal, brings the index up to it, puts the parts together. */
import path from 'node:path'
import type { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import { RETENTION, type Retention } from '../retention.ts'
import { systemDisk, type Disk } from './disk.ts'
import { raiseEpoch } from './epoch.ts'
import { Journal, type JournalEnd } from './journal.ts'
import { KeyBook } from './key-book.ts'
import { LineReader } from './line-reader.ts'
import { MarkBook } from './mark-book.ts'
import { Maintenance } from './maintenance.ts'
import { checkedSegments, checkLines, replayJournal, type CutNotice } from './recovery.ts'
import type { SegmentFile } from './segments.ts'
import { createSignalCalls, type FileSignalStore } from './signal-calls.ts'
import { SignalIndex } from './signal-index.ts'
import { loadSnapshot } from './snapshot.ts'
import { whenWritable } from './when-writable.ts'

export interface FileSignalStoreOptions {
  /** Holds `journal/` and `snapshot/`. */
  directory: string
  clock: Pick<Clock, 'now' | 'soon' | 'after'>
  disk?: Disk
  retention?: Retention
  segment_bytes_max?: number
  commit_bytes_max?: number
  /** A torn tail was cut off and kept aside. */
  onCut?: (notice: CutNotice) => void
  /** Writing has ended for good. Called again where a disk was the reason, and then another hub takes the journal. */
  onFatal?: (error: TurnbellError) => void
  /** After that, unless another hub has the journal: a store that is opened now could write again. */
  onWritable?: () => void
}

/** Before the first segment. */
const NOWHERE: JournalEnd = { segment: 0, bytes: 0 }

/**
 * Opens the journal, fencing off whoever had it before. The caller holds the directory's lock.
 *
 * @throws `store_damaged` naming file and byte offset.
 */
export async function openFileSignalStore(options: FileSignalStoreOptions): Promise<FileSignalStore> {
  const { clock, disk = systemDisk, retention = RETENTION, onCut = () => {} } = options
  const segment_bytes_max = options.segment_bytes_max ?? LIMITS.segment_bytes_max
  const directory = path.join(options.directory, 'journal')
  const snapshot_directory = path.join(options.directory, 'snapshot')
  disk.makeDirectory(directory)
  const epoch = raiseEpoch(disk, directory)
  const lines = new LineReader(disk, directory)

  const segments = checkedSegments(disk, directory)
  const snapshot = loadSnapshot(disk, snapshot_directory, segments)
  if (snapshot?.unchecked) checkLines(disk, segments, snapshot.unchecked)
  const index = snapshot?.index ?? new SignalIndex()
  const keys = new KeyBook(index, (at) => lines.read(at))
  const start = snapshot?.end ?? NOWHERE
  const end = replayJournal({ disk, directory, index, keys, onCut }, segments, start)

  const marks = new MarkBook(index)
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
      last: () => ({ last_seq: index.last_seq, last_signal_id: index.last_signal_id }),
      beforeCommit: () => marks.writeTo(journal),
      onSynced(bytes) {
        index.synced(journal.durableEnd)
        maintenance.grown(bytes)
      },
      onDead(error) {
        maintenance.stop()
        // Whoever has taken it by now is not to be disturbed.
        waiting?.cancel()
        index.undo(journal.durableEnd)
        options.onFatal?.(error)
        const { onWritable } = options
        if (error.code === 'store_fenced' || onWritable === undefined) return
        waiting = whenWritable({ disk, directory: options.directory, clock }, onWritable)
      },
    },
    end,
  )
  const maintenance: Maintenance = new Maintenance(
    { disk, directory, snapshot_directory, clock, index, lines, epoch, segment_bytes_max, journal },
    { tail: bytesAfter(segments, start), total: bytesAfter(segments, NOWHERE) },
  )
  maintenance.snapshotIfDue()
  const close = async () => {
    maintenance.stop()
    const clean = await journal.close()
    // Also where it was the closing that failed.
    waiting?.cancel()
    await maintenance.close(clean)
    lines.close()
  }
  return createSignalCalls({ index, journal, marks, maintenance, clock, retention, close })
}

function bytesAfter(segments: readonly SegmentFile[], { segment, bytes }: JournalEnd): number {
  return segments
    .filter((one) => one.segment >= segment)
    .reduce((sum, one) => sum + one.bytes - (one.segment === segment ? bytes : 0), 0)
}
