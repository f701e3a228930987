/** What keeps the journal short and the next open fast. One thing at a time, none of it in anybody's way. */
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { compactRun, planCompaction, type CompactionNeeds } from './compaction.ts'
import type { Journal } from './journal.ts'
import { refusalOf } from './refusal.ts'
import { listSegments, sealedAt, sortSegments, type SegmentFile } from './segments.ts'
import { takeSnapshot, writeSnapshot } from './snapshot.ts'

export interface MaintenanceNeeds extends Omit<CompactionNeeds, 'stopping'> {
  journal: Journal
  snapshot_directory: string
}

/** A snapshot is due when the rest of the journal would be this share of what a restart has to read. */
const TAIL_SHARE = 0.25

export class Maintenance {
  private readonly needs: MaintenanceNeeds
  /** Ends when everything that was asked for has ended. */
  private last: Promise<unknown> = Promise.resolve()
  private stopping = false
  /** Bytes of the journal that the snapshot does not cover. */
  private tail_bytes: number
  private total_bytes: number
  private snapshot_due = false

  constructor(needs: MaintenanceNeeds, bytes: { tail: number; total: number }) {
    this.needs = needs
    this.tail_bytes = bytes.tail
    this.total_bytes = bytes.total
  }

  /** More of the journal has become durable. */
  grown(bytes: number): void {
    this.tail_bytes += bytes
    this.total_bytes += bytes
    this.snapshotIfDue()
  }

  snapshotIfDue(): void {
    const due =
      this.tail_bytes >= this.needs.segment_bytes_max && this.tail_bytes >= TAIL_SHARE * this.total_bytes
    if (!due || this.snapshot_due) return
    this.snapshot_due = true
    const { clock } = this.needs
    // Not at once: whoever opens the store need not wait until the index is copied.
    const later = () => new Promise<void>((resolve) => clock.soon(resolve))
    void this.alone(() => later().then(() => this.snapshot())).catch(() => {})
  }

  /** Rewrites what is worth it. Where that fails, signals are taken and given out as before. */
  compact(): Promise<void> {
    return this.alone(async () => {
      try {
        await this.rewriteWhatIsWorthIt()
      } catch (cause) {
        if (!this.stopping)
          throw refusalOf(this.whyItStopped(cause), 'compaction stopped; no signal is lost by it')
      }
    })
  }

  /** Whose files are gone, because a successor has compacted them, has been replaced. */
  private whyItStopped(cause: unknown): unknown {
    try {
      this.needs.epoch.check()
      return cause
    } catch (error) {
      return error instanceof TurnbellError ? error : cause
    }
  }

  private async rewriteWhatIsWorthIt(): Promise<void> {
    if (this.stopping) return
    const { disk, directory, index, segment_bytes_max, journal } = this.needs
    const { standing, joined } = sortSegments(listSegments(disk, directory))
    const sealed = sealedBefore(journal.durableEnd.segment, standing)
    const runs = planCompaction(index, sealed, segment_bytes_max, LIMITS.compaction_dead_ratio)
    for (const run of runs) await compactRun({ ...this.needs, stopping: () => this.stopping }, run)
    this.total_bytes = bytesOf(sortSegments(listSegments(disk, directory)).standing)
    if (runs.length > 0) await this.snapshot()
    // Not before the name of what they stand in is kept for sure.
    if (joined.length > 0) disk.syncDirectory(directory)
    for (const { file } of joined) disk.remove(file)
  }

  /** Call when the journal is closed: what is written now covers all of it. */
  async close(clean: boolean): Promise<void> {
    this.stopping = true
    await this.last.catch(() => {})
    this.stopping = false
    if (clean && this.tail_bytes > 0) await this.snapshot()
  }

  /** Nothing is begun any more, and what runs is given up at its next step. */
  stop(): void {
    this.stopping = true
  }

  private alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.last.then(work, work)
    this.last = mine
    return mine
  }

  /** A convenience: one that cannot be written is one that is not there. */
  private async snapshot(): Promise<void> {
    this.snapshot_due = false
    if (this.stopping) return
    const { disk, directory, snapshot_directory, clock, epoch, index, journal } = this.needs
    const end = journal.logicalEnd
    let written = false
    try {
      const pieces = takeSnapshot(index, end, sortSegments(listSegments(disk, directory)).standing)
      this.tail_bytes = 0
      // It must not know more than the journal keeps.
      if (journal.refusal === null) await journal.committed()
      written = await writeSnapshot(
        { disk, clock, epoch, directory: snapshot_directory, stopping: () => this.stopping },
        pieces,
      )
    } catch {
      // What has been written of it will not be taken for one.
    }
    if (!written) this.tail_bytes = this.total_bytes
  }
}

const bytesOf = (segments: readonly SegmentFile[]) => segments.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Those before the one that is written to: that has nothing after it that would tell a torn end from damage, and its first
 * line, once it is on disk, alone keeps the last position of those before.
 */
function sealedBefore(written_to: number, standing: readonly SegmentFile[]): SegmentFile[] {
  return standing.flatMap((one, place) => {
    if (one.segment >= written_to) return []
    return [{ ...one, bytes: sealedAt(one, standing[place + 1]?.head ?? null) ?? one.bytes }]
  })
}
