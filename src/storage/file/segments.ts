/** The files of a journal: `0000000001.jsonl` and so on, each beginning with a line about itself. */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Disk } from './disk.ts'
import { parseEntry, type SegmentEntry } from './entries.ts'
import { lineHolds, NEWLINE } from './line.ts'
import type { BadLine } from './scan.ts'

const NAME = /^(\d{10})\.jsonl$/
const HEAD_BYTES_MAX = 4096

export interface SegmentFile {
  segment: number
  file: string
  bytes: number
  changed_at: number
  /** Null where the first line is damaged or not all there. */
  head: SegmentEntry | null
}

export function segmentFile(directory: string, segment: number): string {
  return path.join(directory, `${String(segment).padStart(10, '0')}.jsonl`)
}

/** All segments in order, whatever state they are in. */
export function listSegments(disk: Disk, directory: string): SegmentFile[] {
  return disk.list(directory).flatMap((name) => {
    const number = NAME.exec(name)?.[1]
    if (number === undefined) return []
    const file = path.join(directory, name)
    const fd = disk.open(file, 'read')
    try {
      const head = readHead(disk, fd)
      return [{ segment: Number(number), file, bytes: disk.size(fd), changed_at: disk.changedAt(fd), head }]
    } finally {
      disk.close(fd)
    }
  })
}

/** `joined` stand in another one since they were compacted, and a crash or the disk kept them; `standing` are the journal. */
export interface SortedSegments {
  standing: SegmentFile[]
  joined: SegmentFile[]
}

export function sortSegments(all: readonly SegmentFile[]): SortedSegments {
  const isJoined = ({ segment }: SegmentFile) =>
    all.some(
      ({ head, segment: other }) =>
        head !== null && head.segment === other && segment >= head.first && segment < other,
    )
  return { standing: all.filter((one) => !isJoined(one)), joined: all.filter(isJoined) }
}

/**
 * How much of a segment its successor found when it took over; null where nobody has, or where it was rewritten since.
 * What stands behind was written by a former owner, and is no part of the journal. Throws `store_damaged` where less is left.
 */
export function sealedAt(
  { segment, file, bytes, head }: SegmentFile,
  next: SegmentFile['head'],
): number | null {
  const follows = next?.follows
  if (head?.revision !== 0 || follows?.segment !== segment) return null
  const sealed = follows.bytes
  if (bytes < sealed) {
    throw damaged(file, { offset: bytes, reason: `the file ends here, but it was ${sealed} bytes long` })
  }
  return sealed
}

export function damaged(file: string, { offset, reason }: BadLine): TurnbellError {
  return new TurnbellError('store_damaged', { detail: `${file} at byte ${offset}: ${reason}` })
}

function readHead(disk: Disk, fd: number): SegmentEntry | null {
  const buffer = Buffer.alloc(HEAD_BYTES_MAX)
  const filled = disk.read(fd, buffer, 0)
  const end = buffer.subarray(0, filled).indexOf(NEWLINE)
  if (end === -1 || !lineHolds(buffer, 0, end)) return null
  try {
    const entry = parseEntry(buffer.toString('utf8', 0, end))
    return entry.kind === 'segment' ? entry : null
  } catch {
    return null
  }
}
