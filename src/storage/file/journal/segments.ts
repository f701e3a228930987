/** The segment files of a journal: `0000000001.jsonl` and so on. The first line of each describes the file. */
import path from 'node:path'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { codeOf, type Disk } from './disk.ts'
import { parseEntry, type SegmentEntry } from './journal-entries.ts'
import { isValidLine, NEWLINE } from './sealed-line.ts'
import type { BadLine } from './segment-scan.ts'

const NAME = /^(\d{10})\.jsonl$/
const HEAD_BYTES_MAX = 4096

export interface SegmentFile {
  segment: number
  file: string
  bytes: number
  changed_at: number
  /** Null if the first line is damaged or incomplete. */
  head: SegmentEntry | null
}

export const isSegmentName = (name: string): boolean => NAME.test(name)

export function segmentFile(directory: string, segment: number): string {
  return path.join(directory, `${String(segment).padStart(10, '0')}.jsonl`)
}

/** Returns all segments in order, damaged ones included. */
export function listSegments(disk: Disk, directory: string): SegmentFile[] {
  return disk.list(directory).flatMap((name) => {
    const number = NAME.exec(name)?.[1]
    if (number === undefined) return []
    const file = path.join(directory, name)
    const fd = openSegment(disk, file)
    try {
      const head = readHead(disk, fd)
      return [{ segment: Number(number), file, bytes: disk.size(fd), changed_at: disk.changedAt(fd), head }]
    } finally {
      disk.close(fd)
    }
  })
}

/** `live` segments form the journal. `obsolete` ones were compacted into another segment but not removed yet. */
export interface SortedSegments {
  live: SegmentFile[]
  obsolete: SegmentFile[]
}

export function sortSegments(all: readonly SegmentFile[]): SortedSegments {
  const isObsolete = ({ segment }: SegmentFile) =>
    all.some(
      ({ head, segment: other }) =>
        head !== null && head.segment === other && segment >= head.first && segment < other,
    )
  return { live: all.filter((one) => !isObsolete(one)), obsolete: all.filter(isObsolete) }
}

/**
 * Returns the length that the next segment's first line records for this one; null if there is none, or if this segment was
 * rewritten later. Bytes after it were written by a former owner and are not part of the journal. Throws `store_damaged` if
 * the file is shorter.
 */
export function sealedAt(
  { segment, file, bytes, head }: SegmentFile,
  next: SegmentFile['head'],
): number | null {
  const follows = next?.follows
  if (head?.revision !== 0 || follows?.segment !== segment) return null
  const sealed = follows.bytes
  if (bytes < sealed) {
    throw damagedError(file, { offset: bytes, reason: `the file ends here, but it was ${sealed} bytes long` })
  }
  return sealed
}

export function damagedError(file: string, { offset, reason }: BadLine): TurnbellError {
  return new TurnbellError('store_damaged', { detail: `${file} at byte ${offset}: ${reason}` })
}

function openSegment(disk: Disk, file: string): number {
  try {
    return disk.open(file, 'read')
  } catch (error) {
    const reason = NOT_A_SEGMENT[codeOf(error) ?? '']
    if (reason === undefined) throw error
    throw new TurnbellError('store_damaged', { detail: `${file} at byte 0: ${reason}`, cause: error })
  }
}

const NOT_A_SEGMENT: Readonly<Record<string, string>> = {
  EFTYPE: 'it is not a regular file',
  EISDIR: 'it is not a regular file',
  ELOOP: 'it is a broken link',
  ENOENT: 'it is a broken link',
}

function readHead(disk: Disk, fd: number): SegmentEntry | null {
  const buffer = Buffer.alloc(HEAD_BYTES_MAX)
  const filled = disk.read(fd, buffer, 0)
  const end = buffer.subarray(0, filled).indexOf(NEWLINE)
  if (end === -1 || !isValidLine(buffer, 0, end)) return null
  try {
    const entry = parseEntry(buffer.toString('utf8', 0, end))
    return entry.kind === 'segment' ? entry : null
  } catch {
    return null
  }
}
