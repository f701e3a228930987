/** Scans a segment line by line and verifies each checksum. */
import type { Disk } from './disk.ts'
import { entryText, parseEntry } from './journal-entries.ts'
import { LineChecksums } from './line-checksums.ts'
import { isValidLine, NEWLINE, SEAL_BYTES } from './sealed-line.ts'

const CHUNK_BYTES = 1024 * 1024

export interface BadLine {
  offset: number
  reason: string
  /** Set if the checksum is valid but the content is not: the line is not a torn write. */
  checksum_valid?: true
}

/** Receives a line in a buffer that is overwritten later; `end` excludes the newline. */
export type LineVisitor = (buffer: Buffer, start: number, end: number, offset: number) => void

export class LineScanner {
  private readonly disk: Disk
  private buffer: Buffer

  constructor(disk: Disk, chunk_bytes = CHUNK_BYTES) {
    this.disk = disk
    this.buffer = Buffer.allocUnsafeSlow(chunk_bytes)
  }

  /**
   * Visits the lines in `from..to` up to the first bad one and returns it; null if all are valid. A line is
   * also bad if the visitor throws.
   */
  scan(fd: number, from: number, to: number, visit: LineVisitor): BadLine | null {
    for (const part of this.parts(fd, from, to)) {
      if ('reason' in part) return part
      const bad = visitLines(this.buffer, part.filled, part.offset, visit)
      if (bad !== null) return bad
    }
    return null
  }

  /** The same, one chunk at a time, so that a long scan can yield to the event loop. */
  *parts(fd: number, from: number, to: number): Generator<{ offset: number; filled: number } | BadLine> {
    let offset = from
    while (offset < to) {
      const length = Math.min(this.buffer.length, to - offset)
      const filled = this.disk.read(fd, this.buffer.subarray(0, length), offset)
      const end = this.buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1
      if (end > 0) {
        yield { offset, filled: end }
        offset += end
      } else if (filled < length || offset + filled === to) {
        yield { offset, reason: 'the line ends without its newline' }
        return
      } else {
        this.buffer = Buffer.allocUnsafeSlow(this.buffer.length * 2)
      }
    }
  }

  /** Content of the last part; valid until the next part is read. */
  get chunk(): Buffer {
    return this.buffer
  }
}

/** Minimum chunk size for `LineChecksums`, because its tables take some milliseconds to build. */
const SUMMED_BYTES_MIN = 256 * 1024
let sums: LineChecksums | null = null

export function visitLines(
  buffer: Buffer,
  filled: number,
  offset: number,
  visit: LineVisitor,
): BadLine | null {
  const lines = filled < SUMMED_BYTES_MIN ? -1 : (sums ??= new LineChecksums()).countValid(buffer, filled)
  let start = 0
  for (let line = 0; start < filled; line += 1) {
    const end = lines === -1 ? buffer.indexOf(NEWLINE, start) : (sums?.ends[line] as number)
    if (lines === -1 && !isValidLine(buffer, start, end)) {
      return { offset: offset + start, reason: 'the line does not match its checksum' }
    }
    try {
      visit(buffer, start, end, offset + start)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { offset: offset + start, reason, checksum_valid: true }
    }
    start = end + 1
  }
  return null
}

const WITNESSES = [Buffer.from('{"kind":"commit","at":'), Buffer.from('{"kind":"closed","at":')]

function commitLineBytes(at: number): number {
  return entryText({ kind: 'commit', at }).length + SEAL_BYTES
}

/**
 * Returns whether the file proves that the bytes at `bad` were synced once. A commit starts only after the
 * previous commit is on disk, so a valid commit line further on means damage, not a torn write. All
 * positions are searched, because a damaged newline hides where lines begin.
 */
export function wasSynced(disk: Disk, fd: number, bad: number, to: number): boolean {
  const rest = Buffer.allocUnsafe(to - bad)
  const filled = disk.read(fd, rest, bad)
  return WITNESSES.some((witness) => {
    for (let at = rest.indexOf(witness, 1); at !== -1; at = rest.indexOf(witness, at + 1)) {
      const end = rest.indexOf(NEWLINE, at)
      if (end === -1 || end >= filled || !isValidLine(rest, at, end)) continue
      // A commit line contains its own offset, so a payload that looks like one does not match.
      const entry = entryIn(rest.toString('utf8', at, end))
      if (entry === null || !('at' in entry) || entry.at !== bad + at) continue
      // A `closed` line is written together with the commit line before it, and proves nothing about that commit.
      if (entry.kind === 'closed' && at === commitLineBytes(bad)) continue
      return true
    }
    return false
  })
}

function entryIn(line: string): ReturnType<typeof parseEntry> | null {
  try {
    return parseEntry(line)
  } catch {
    return null
  }
}
