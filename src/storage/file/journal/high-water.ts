/**
 * The high-water mark: how far the journal is known to reach. The journal cannot show that its own end is missing, so its
 * durable end is also recorded outside of its directory: in `high-water.json` at each open, each new segment and each clean
 * stop, and in the snapshot.
 */
import path from 'node:path'
import * as z from 'zod'
import { parseJsonAs } from '../../../contracts/validation/json.ts'
import { codeOf, writeFully, type Disk } from './disk.ts'
import { SEQ_MAX, type SegmentEntry } from './journal-entries.ts'
import type { Epoch } from './fencing-epoch.ts'
import type { JournalEnd, LastAssigned } from './journal.ts'
import { isValidLine, NEWLINE, sealedLine } from './sealed-line.ts'
import { sortSegments, type SegmentFile } from './segments.ts'

const DRAFT = '.new'
const Count = z.number().int().min(0).max(SEQ_MAX)

/** A record of the journal's end, from the high-water mark or the snapshot. */
const KnownEnd = z.object({
  segment: Count,
  bytes: Count,
  /** Revision in the segment's first line. If it differs now, the segment was rewritten and has another length. */
  revision: Count,
  segment_epoch: Count,
  last_seq: Count,
  last_signal_id: z.string().nullable(),
  /** The fencing epoch of the writer. */
  epoch: Count,
  /** True if written at a clean stop: no higher seq was assigned. */
  exact: z.boolean(),
})
export type KnownEnd = z.infer<typeof KnownEnd>

const HighWater = KnownEnd.extend({ kind: z.literal('high_water'), version: z.literal(1) })

/** Seqs to skip if the last assigned seq is unknown. A segment of 64 MiB contains fewer signals. */
export const SEQ_GAP = 1_000_000

export const highWaterFile = (hub_directory: string) => path.join(hub_directory, 'high-water.json')

/** Returns null if the file is missing or damaged. */
export function readHighWater(disk: Disk, hub_directory: string): KnownEnd | null {
  let bytes: Buffer | null
  try {
    bytes = disk.readFile(highWaterFile(hub_directory))
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    return null
  }
  if (bytes === null || bytes.at(-1) !== NEWLINE || !isValidLine(bytes, 0, bytes.length - 1)) return null
  return parseJsonAs(HighWater, bytes.toString('utf8'))
}

/**
 * Writes the mark. Never rejects, because the file only makes checks stronger. Calls `isOwner` right before the rename, so
 * that a former owner does not replace its successor's file. The sync does not block the event loop.
 */
async function writeHighWater(
  disk: Disk,
  hub_directory: string,
  known: KnownEnd,
  isOwner: () => boolean,
): Promise<void> {
  const file = highWaterFile(hub_directory)
  const draft = `${file}.${known.epoch}${DRAFT}`
  try {
    if (!isOwner()) return
    disk.remove(draft)
    const fd = disk.open(draft, 'new')
    try {
      writeFully(disk, fd, sealedLine({ kind: 'high_water', version: 1, ...known }), 0)
      await new Promise<void>((resolve, reject) => {
        disk.sync(fd, (error) => (error === null ? resolve() : reject(error)))
      })
    } finally {
      disk.close(fd)
    }
    if (isOwner()) disk.rename(draft, file)
    else disk.remove(draft)
  } catch {
    // The next write may succeed.
  }
}

/** Removes drafts of killed processes. */
export function removeDrafts(disk: Disk, hub_directory: string): void {
  const name = path.basename(highWaterFile(hub_directory))
  for (const one of disk.list(hub_directory)) {
    if (one.startsWith(`${name}.`) && one.endsWith(DRAFT)) disk.remove(path.join(hub_directory, one))
  }
}

export interface MissingPart {
  file: string
  offset: number
  reason: string
}

/** Returns the part that the segments lack compared with the known end; null if they reach that far. */
export function findMissingPart(
  known: KnownEnd,
  segments: readonly SegmentFile[],
  fileOf: (segment: number) => string,
) {
  if (known.segment === 0) return null
  const { live: standing } = sortSegments(segments)
  const holder = standing.find(
    ({ segment, head }) => segment >= known.segment && (head?.first ?? segment) <= known.segment,
  )
  if (holder === undefined) {
    // A later segment exists; its first line shows what is missing before it.
    if (standing.some(({ segment }) => segment > known.segment)) return null
    return { file: fileOf(known.segment), offset: 0, reason: 'the file is missing' } satisfies MissingPart
  }
  const needed = knownBytes(known, holder.segment, holder.head)
  if (holder.bytes >= needed) return null
  const reason = `the file ends here, but it was ${needed} bytes long`
  return { file: holder.file, offset: holder.bytes, reason } satisfies MissingPart
}

/** Returns the known minimum length of a segment; 0 if it was rewritten later. A damaged first line does not prove a rewrite. */
export function knownBytes(known: KnownEnd, segment: number, head: SegmentEntry | null): number {
  if (known.segment !== segment) return 0
  const is_same = head === null || (head.revision === known.revision && head.epoch === known.segment_epoch)
  return is_same ? known.bytes : 0
}

export interface HighWaterMark {
  /** Returns the record for this durable end of the journal. */
  describe(end: JournalEnd, last: LastAssigned, exact: boolean): KnownEnd
  /** Writes a record. Never rejects; calls run one at a time, in order. */
  write(known: KnownEnd): Promise<void>
  /** Resolves when all requested writes have ended. */
  settled(): Promise<void>
}

export function createHighWaterMark(deps: {
  disk: Disk
  hub_directory: string
  epoch: Epoch
  /** Segments at the open; later ones are written by this process. */
  segments: readonly SegmentFile[]
}): HighWaterMark {
  const { disk, hub_directory, epoch, segments } = deps
  // If the epoch file is missing or older, or the journal is not a directory, no other hub has opened the journal.
  const isOwner = () => {
    try {
      epoch.check()
      return true
    } catch (error) {
      return codeOf(error) === 'ENOTDIR' || codeOf(error) === 'store_unavailable'
    }
  }
  let writes = Promise.resolve()
  return {
    describe({ segment, bytes }, last, exact) {
      const head = segments.find((one) => one.segment === segment)?.head ?? null
      const { number } = epoch
      return {
        segment,
        bytes,
        revision: head?.revision ?? 0,
        segment_epoch: head?.epoch ?? number,
        ...last,
        epoch: number,
        exact,
      }
    },
    write: (known) => (writes = writes.then(() => writeHighWater(disk, hub_directory, known, isOwner))),
    settled: () => writes,
  }
}
