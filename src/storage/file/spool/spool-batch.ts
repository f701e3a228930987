/** One batch: a file taken from the spool, read in bounded pieces, with a progress file that records how far it is done. */
import path from 'node:path'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Disk } from '../journal/disk.ts'
import type { SpoolReject } from './rejected-lines.ts'
import { openSyncedLines } from '../project/synced-lines.ts'
import type { DeferredLines } from './deferred-lines.ts'

export const TAKEN_ENDING = '.taken'
export const NOTE_ENDING = '.done'

const NEWLINE = 0x0a
/** First read; most lines are far shorter. */
const PIECE_BYTES = 256 * 1024
/** Bytes kept of a line that is rejected for its length. */
const KEPT_BYTES = 16 * 1024

interface SpoolLine {
  /** Position of the line in its batch. */
  key: string
  line: string
  /** Offset of the next line. */
  end: number
}

interface NextLines {
  lines: SpoolLine[]
  too_long: SpoolReject | null
  end: number
}

export interface Batch {
  name: string
  /** Offset up to which the batch is done. */
  offset(): number
  /** Keys of lines that are deferred already: a process deferred them and crashed before recording its progress. */
  deferred: ReadonlySet<string>
  /** Returns the next complete lines and the offset after them; no lines and the same offset at the end. */
  next(): NextLines
  /** Records durably that everything before the offset is done. */
  markDone(offset: number): Promise<void>
  skipDeferred(waiting: Pick<DeferredLines, 'get' | 'all'>): Promise<void>
  /** Records the time of the last growth of the file. */
  checkSize(now_ms: number): void
  /** Returns whether the file has not grown for longer than a writer takes. */
  isQuiet(now_ms: number): boolean
  /** Returns a last line without newline. */
  partialLine(): Omit<SpoolLine, 'end'> | null
  /** Removes the progress file. */
  forget(): void
}

export function openBatch(disk: Disk, directory: string, name: string): Batch {
  const file = path.join(directory, name)
  const { found, lines: note } = openSyncedLines(disk, `${file}${NOTE_ENDING}`)
  const deferred = new Set<string>()
  let offset = Number(found.findLast((line) => /^\d+$/.test(line)) ?? 0)
  let size = -1
  let since_ms = 0
  const keyAt = (place: number) => `${name}:${place}`

  const withFile = <T>(otherwise: T, work: (fd: number) => T): T => {
    if (!disk.list(directory).includes(name)) return otherwise
    const fd = disk.open(file, 'read')
    try {
      return work(fd)
    } finally {
      disk.close(fd)
    }
  }
  const sizeNow = () => withFile(0, (fd) => disk.size(fd))
  const batch: Batch = {
    name,
    deferred,
    offset: () => offset,
    next: () =>
      withFile({ lines: [], too_long: null, end: offset }, (fd) =>
        nextLines((from, bytes) => piece(disk, fd, from, bytes), offset, keyAt),
      ),
    async markDone(place) {
      await note.append(String(place))
      offset = place
    },
    async skipDeferred(waiting) {
      for (const { key } of waiting.all()) if (key.startsWith(`${name}:`)) deferred.add(key)
      if (!deferred.has(keyAt(offset))) return
      // Writers do not sync, so a power cut may have removed the end of the file, or all of it.
      let place = Math.max(offset, sizeNow())
      for (const { key, end } of batch.next().lines) {
        if (!deferred.has(key)) break
        place = end
      }
      await batch.markDone(place)
    },
    checkSize(now_ms) {
      const now = sizeNow()
      if (now === size) return
      size = now
      since_ms = now_ms
    },
    isQuiet: (now_ms) => sizeNow() === size && now_ms - since_ms >= LIMITS.spool_quiet_ms,
    partialLine() {
      const bytes = withFile(Buffer.alloc(0), (fd) => piece(disk, fd, offset, LIMITS.spool_line_bytes_max))
      const whole = bytes.length < LIMITS.spool_line_bytes_max
      const line = whole ? bytes.toString() : bytes.toString('utf8', 0, KEPT_BYTES)
      return line.trim() === '' ? null : { key: keyAt(offset), line }
    },
    forget: () => note.replace([]),
  }
  return batch
}

/** Reads bytes at an offset; fewer at the end of the file. */
type Read = (from: number, bytes: number) => Buffer

function piece(disk: Disk, fd: number, from: number, bytes: number): Buffer {
  const target = Buffer.alloc(Math.max(0, Math.min(bytes, disk.size(fd) - from)))
  return target.subarray(0, disk.read(fd, target, from))
}

function nextLines(read: Read, from: number, keyAt: (place: number) => string): NextLines {
  let bytes = read(from, PIECE_BYTES)
  if (bytes.length === PIECE_BYTES && !bytes.includes(NEWLINE))
    bytes = read(from, LIMITS.spool_line_bytes_max)
  if (bytes.length === LIMITS.spool_line_bytes_max && !bytes.includes(NEWLINE)) {
    const line = bytes.toString('utf8', 0, KEPT_BYTES)
    const reason = `the line is longer than ${LIMITS.spool_line_bytes_max} bytes; only its start is kept`
    const end = endOfLong(read, from + bytes.length)
    return end === null
      ? { lines: [], too_long: null, end: from }
      : { lines: [], too_long: { key: keyAt(from), line, reason }, end }
  }
  const lines: SpoolLine[] = []
  let place = 0
  while (lines.length < LIMITS.spool_batch_max) {
    const end = bytes.indexOf(NEWLINE, place)
    if (end === -1) break
    const line = bytes.toString('utf8', place, end)
    lines.push({ key: keyAt(from + place), line, end: from + end + 1 })
    place = end + 1
  }
  return { lines, too_long: null, end: from + place }
}

/** Returns the end of a line that is too long; null if it has no newline yet. */
function endOfLong(read: Read, from: number): number | null {
  for (let place = from; ; place += PIECE_BYTES) {
    const bytes = read(place, PIECE_BYTES)
    const end = bytes.indexOf(NEWLINE)
    if (end !== -1) return place + end + 1
    if (bytes.length < PIECE_BYTES) return null
  }
}
