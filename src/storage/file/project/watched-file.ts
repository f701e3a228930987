/**
 * Caches a file that other programs also write. The file is read only if it may have changed; while its bytes are equal,
 * the same buffer is returned.
 */
import fs from 'node:fs'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { CLOCK_STEP_MS } from '../records/read-record.ts'
import { openRefused, toReadError } from '../journal/disk-errors.ts'
import { openPlain } from '../../../system/files/inside.ts'

export interface WatchedFile {
  /**
   * Returns the current bytes; null if there is no file. Throws `store_unavailable` if it is not a regular file or is
   * too large.
   */
  read(): Buffer | null
  /** Time since the bytes were written, as of the last read. */
  age_ms(): number
}

interface CachedFile {
  stamp: string
  /** False while a further change could leave the stamp unchanged. */
  stamp_is_final: boolean
  written_at_ms: number
  bytes: Buffer
}

export function watchFile(file: string, bytes_max = Infinity): WatchedFile {
  let cached: CachedFile | null = null
  const reader = createReader(file)
  return {
    read() {
      const stat = plainFileAt(file)
      if (stat === null) return (cached = null)
      if (stat.size > bytes_max) throw tooLarge(file, bytes_max)
      const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`
      if (cached?.stamp_is_final === true && cached.stamp === stamp) return cached.bytes
      const bytes = reader(cached?.bytes ?? NOTHING)
      if (bytes === null) return (cached = null)
      const changed_at_ms = Math.max(stat.mtimeMs, stat.ctimeMs)
      // The bytes may be newer than the stamp; the next read then finds another stamp.
      const stamp_is_final = Math.abs(Date.now() - changed_at_ms) > CLOCK_STEP_MS
      const grew = bytes.length !== stat.size
      cached = { stamp, stamp_is_final, written_at_ms: grew ? Date.now() : stat.mtimeMs, bytes }
      return bytes
    },
    // A time in the future means that the clock was set back.
    age_ms: () => (cached === null ? Infinity : Math.abs(Date.now() - cached.written_at_ms)),
  }
}

/**
 * Reads until no other program seems to be writing the file, which then contains no partial content. `settled` is false if
 * the waiting was given up.
 */
export async function readSettled<T>(
  watched: WatchedFile,
  read: () => T | null,
  isPartial: (content: T) => boolean,
  pause: (ms: number) => Promise<unknown>,
): Promise<{ content: T | null; settled: boolean }> {
  for (let attempts = 1; ; attempts += 1) {
    const content = read()
    const age_ms = watched.age_ms()
    if (content === null || !isPartial(content) || age_ms >= LIMITS.file_settle_ms)
      return { content, settled: true }
    if (attempts === LIMITS.file_settle_looks_max) return { content, settled: false }
    await pause(LIMITS.file_settle_ms - age_ms)
  }
}

const NOTHING = Buffer.alloc(0)
/** Shared by all reads, which are synchronous. */
const piece = Buffer.allocUnsafeSlow(256 * 1024)

/**
 * Reads a file and compares it with its known bytes. Returns the same buffer if they are equal. If the file only grew, returns
 * a buffer that starts in the same memory, so that appending a line to a large file needs no copy.
 */
function createReader(file: string): (known: Buffer) => Buffer | null {
  let room: Buffer = NOTHING
  return (known) =>
    opened(file, (fd) => {
      // No returned buffer uses the memory after the known bytes.
      let target = sharesStart(room, known) ? room : known
      let end = 0
      for (;;) {
        const bytes = fs.readSync(fd, piece, 0, piece.length, end)
        if (bytes === 0) break
        const expected = known.subarray(end, end + bytes)
        if (!piece.subarray(0, expected.length).equals(expected)) return fs.readFileSync(fd)
        if (bytes > expected.length) {
          if (target === known || end + bytes > target.length) target = larger(target, end + bytes)
          piece.copy(target, end + expected.length, expected.length, bytes)
        }
        end += bytes
      }
      if (end < known.length) return fs.readFileSync(fd)
      if (end === known.length) return known
      room = target
      return room.subarray(0, end)
    })
}

function larger(known: Buffer, bytes: number): Buffer {
  const room = Buffer.allocUnsafeSlow(Math.max(bytes * 2, piece.length))
  known.copy(room)
  return room
}

/** Returns whether both buffers start at the same memory address. */
export function sharesStart(some: Buffer, other: Buffer): boolean {
  return some.buffer === other.buffer && some.byteOffset === other.byteOffset
}

/** Returns the file's bytes; null if there is no file. Throws `store_unavailable`. */
export function readPlainBytes(file: string): Buffer | null {
  return opened(file, (fd) => fs.readFileSync(fd))
}

/** Returns null if there is no file. Throws `store_unavailable` if it is not a regular file. */
export function plainFileAt(file: string): fs.Stats | null {
  const stat = statOf(file)
  if (stat === undefined) return null
  if (stat.isFile()) return stat
  throw new TurnbellError('store_unavailable', {
    detail: `${file} is ${stat.isSymbolicLink() ? 'a link, which is not followed' : 'not a regular file'}`,
    hint: 'Check where it comes from and remove it, then call again; turnbell creates the file.',
  })
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })
  } catch (error) {
    throw toReadError(file, error)
  }
}

export function tooLarge(file: string, bytes_max: number): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `${file} is larger than the limit of ${bytes_max} bytes`,
    hint: 'Remove content that is not needed, then call again.',
  })
}

function opened<T>(file: string, work: (fd: number) => T): T | null {
  const plain = openPlain(file)
  if ('why' in plain) {
    if (plain.why === 'missing') return null
    throw openRefused(file, plain)
  }
  const { fd } = plain
  try {
    return work(fd)
  } catch (error) {
    throw toReadError(file, error)
  } finally {
    fs.closeSync(fd)
  }
}
