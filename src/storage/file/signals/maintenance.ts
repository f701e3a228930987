/** Background maintenance: compaction keeps the journal short, snapshots make the next open fast. Runs one job at a time. */
import { createSerialQueue } from '../../../ports/serial-queue.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { compactRun, planCompaction, type CompactionDeps } from './compaction.ts'
import type { Journal } from '../journal/journal.ts'
import { toStoreError } from '../journal/disk-errors.ts'
import { listSegments, sealedAt, sortSegments, type SegmentFile } from '../journal/segments.ts'
import { takeSnapshot, writeSnapshot } from './snapshot.ts'

export interface MaintenanceDeps extends Omit<CompactionDeps, 'stopping' | 'committed'> {
  journal: Journal
  snapshot_directory: string
}

/** A snapshot is due when the uncovered tail reaches this share of the whole journal. */
const TAIL_SHARE = 0.25

export class Maintenance {
  private readonly deps: MaintenanceDeps
  /** Settles when all requested jobs have ended. */
  private readonly runExclusively = createSerialQueue()
  private stopping = false
  /** Journal bytes that the snapshot does not cover. */
  private tail_bytes: number
  private total_bytes: number
  private snapshot_due = false

  constructor(deps: MaintenanceDeps, bytes: { tail: number; total: number }) {
    this.deps = deps
    this.tail_bytes = bytes.tail
    this.total_bytes = bytes.total
  }

  /** Call when this many more bytes of the journal are durable. */
  addDurableBytes(bytes: number): void {
    this.tail_bytes += bytes
    this.total_bytes += bytes
    this.snapshotIfDue()
  }

  snapshotIfDue(): void {
    const due =
      this.tail_bytes >= this.deps.segment_bytes_max && this.tail_bytes >= TAIL_SHARE * this.total_bytes
    if (!due || this.snapshot_due) return
    this.snapshot_due = true
    const { clock } = this.deps
    // Deferred, so that opening the store does not wait until the index is copied.
    const later = () => new Promise<void>((resolve) => clock.soon(resolve))
    void this.runExclusively(() => later().then(() => this.snapshot())).catch(() => {})
  }

  /** Rewrites segments with enough wasted space. After a failure the store continues to accept and deliver signals. */
  compact(): Promise<void> {
    return this.runExclusively(async () => {
      try {
        await this.rewriteSegments()
      } catch (cause) {
        if (!this.stopping)
          throw toStoreError(this.fencingErrorOr(cause), 'compaction failed; no signal is lost')
      }
    })
  }

  /** Returns the epoch's error if there is one: files may be missing because a successor compacted them. */
  private fencingErrorOr(cause: unknown): unknown {
    try {
      this.deps.epoch.check()
      return cause
    } catch (error) {
      return error instanceof TurnbellError ? error : cause
    }
  }

  private async rewriteSegments(): Promise<void> {
    if (this.stopping) return
    const { disk, directory, index, segment_bytes_max, journal } = this.deps
    const { live, obsolete } = sortSegments(listSegments(disk, directory))
    const sealed = sealedBefore(journal.durableEnd.segment, live)
    const runs = planCompaction(index, sealed, segment_bytes_max, LIMITS.compaction_dead_ratio)
    const deps = { ...this.deps, stopping: () => this.stopping, committed: () => journal.committed() }
    for (const run of runs) await compactRun(deps, run)
    this.total_bytes = bytesOf(sortSegments(listSegments(disk, directory)).live)
    if (runs.length > 0) await this.snapshot()
    // Only after the name of the segment that replaces them is durable.
    if (obsolete.length > 0) disk.syncDirectory(directory)
    for (const { file } of obsolete) disk.remove(file)
  }

  /** Call after the journal is closed; the last snapshot then covers all of it. */
  async close(clean: boolean): Promise<void> {
    this.stopping = true
    await this.runExclusively(() => undefined)
    this.stopping = false
    if (clean && this.tail_bytes > 0) await this.snapshot()
  }

  /** Starts no further jobs; the running job gives up at its next step. */
  stop(): void {
    this.stopping = true
  }

  /** Writes a snapshot. A failure is ignored, because the journal can be read without one. */
  private async snapshot(): Promise<void> {
    this.snapshot_due = false
    if (this.stopping) return
    const { disk, directory, snapshot_directory, clock, epoch, index, journal } = this.deps
    const end = journal.logicalEnd
    let written = false
    try {
      const pieces = takeSnapshot(index, end, sortSegments(listSegments(disk, directory)).live)
      this.tail_bytes = 0
      // The snapshot must not contain changes that are not durable in the journal.
      if (journal.writeError === null) await journal.committed()
      written = await writeSnapshot(
        { disk, clock, epoch, directory: snapshot_directory, stopping: () => this.stopping },
        pieces,
      )
    } catch {
      // The next open removes an unfinished draft.
    }
    if (!written) this.tail_bytes = this.total_bytes
  }
}

const bytesOf = (segments: readonly SegmentFile[]) => segments.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Returns the segments before the one being written to. That one is excluded because no later segment distinguishes a torn end from
 * damage, and because its first line is the only record of the last seq and id of the segments before it.
 */
function sealedBefore(active: number, live: readonly SegmentFile[]): SegmentFile[] {
  return live.flatMap((one, place) => {
    if (one.segment >= active) return []
    return [{ ...one, bytes: sealedAt(one, live[place + 1]?.head ?? null) ?? one.bytes }]
  })
}
