/** Goes over a segment line by line, checking each. */
import type { Disk } from './disk.ts'
import { entryText, parseEntry } from './entries.ts'
import { LineSums } from './line-sums.ts'
import { lineHolds, NEWLINE, SEAL_BYTES } from './line.ts'

const CHUNK_BYTES = 1024 * 1024

export interface BadLine {
  offset: number
  reason: string
  /** Its checksum holds: it is no torn write, and says nothing that a hub has written. */
  whole?: true
}

/** A line as it stands in a buffer that is filled anew afterwards; `end` leaves the newline out. */
export type LineVisitor = (buffer: Buffer, start: number, end: number, offset: number) => void

export class LineScanner {
  private readonly disk: Disk
  private buffer: Buffer

  constructor(disk: Disk, chunk_bytes = CHUNK_BYTES) {
    this.disk = disk
    this.buffer = Buffer.allocUnsafeSlow(chunk_bytes)
  }

  /**
   * Visits the lines in `from..to` until one does not hold, and answers that one; null when all hold. A
   * visitor that throws says that its line is bad.
   */
  scan(fd: number, from: number, to: number, visit: LineVisitor): BadLine | null {
    for (const part of this.parts(fd, from, to)) {
      if ('reason' in part) return part
      const bad = visitLines(this.buffer, part.filled, part.offset, visit)
      if (bad !== null) return bad
    }
    return null
  }

  /** The same, one chunk at a time, so that a long scan can let others work in between. */
  *parts(fd: number, from: number, to: number): Generator<{ offset: number; filled: number } | BadLine> {
    let offset = from
    while (offset < to) {
      const wanted = Math.min(this.buffer.length, to - offset)
      const filled = this.disk.read(fd, this.buffer.subarray(0, wanted), offset)
      const end = this.buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1
      if (end > 0) {
        yield { offset, filled: end }
        offset += end
      } else if (filled < wanted || offset + filled === to) {
        yield { offset, reason: 'the line ends without its newline' }
        return
      } else {
        this.buffer = Buffer.allocUnsafeSlow(this.buffer.length * 2)
      }
    }
  }

  /** What the last part read; valid until the next one. */
  get chunk(): Buffer {
    return this.buffer
  }
}

/** Its tables take some milliseconds to make, in which many lines are checked. */
const SUMMED_BYTES_MIN = 256 * 1024
let sums: LineSums | null = null

export function visitLines(
  buffer: Buffer,
  filled: number,
  offset: number,
  visit: LineVisitor,
): BadLine | null {
  const lines = filled < SUMMED_BYTES_MIN ? -1 : (sums ??= new LineSums()).hold(buffer, filled)
  let start = 0
  for (let line = 0; start < filled; line += 1) {
    const end = lines === -1 ? buffer.indexOf(NEWLINE, start) : (sums?.ends[line] as number)
    if (lines === -1 && !lineHolds(buffer, start, end)) {
      return { offset: offset + start, reason: 'the line does not match its checksum' }
    }
    try {
      visit(buffer, start, end, offset + start)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { offset: offset + start, reason, whole: true }
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
 * Whether the file proves that what stands at `bad` was once synced: a commit is begun only after the one
 * before it is on disk, so a whole commit line further on means that the bad line is damage and no torn
 * write. Witnesses are looked for anywhere, because a damaged newline hides where lines begin.
 */
export function wasSynced(disk: Disk, fd: number, bad: number, to: number): boolean {
  const rest = Buffer.allocUnsafe(to - bad)
  const filled = disk.read(fd, rest, bad)
  return WITNESSES.some((witness) => {
    for (let at = rest.indexOf(witness, 1); at !== -1; at = rest.indexOf(witness, at + 1)) {
      const end = rest.indexOf(NEWLINE, at)
      if (end === -1 || end >= filled || !lineHolds(rest, at, end)) continue
      // It names its own place, so a payload that looks like one is none.
      const entry = entryIn(rest.toString('utf8', at, end))
      if (entry === null || !('at' in entry) || entry.at !== bad + at) continue
      // The line that a segment is closed with was written together with the commit line before it.
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
