/**
 * A file that others write as well: people with editors, git, other processes. It is read only when it may have
 * changed, and as long as its bytes are the same they are the very same buffer.
 */
import fs from 'node:fs'
import { TurnbellError } from '../../contracts/errors.ts'
import { codeOf } from './disk.ts'
import { CLOCK_STEP_MS } from './record-look.ts'
import { unreadable } from './refusal.ts'
import { READ_PLAIN } from '../../system/plain-file.ts'

export interface WatchedFile {
  /**
   * Its bytes as they are now, null where there is no file. Throws `store_unavailable` where it is no
   * plain file, or too large.
   */
  look(): Buffer | null
  /** How long ago its bytes were last written, as of the last look. */
  age_ms(): number
}

interface Known {
  stamp: string
  /** False while a change might still come that leaves the stamp as it is. */
  stamp_holds: boolean
  written_at_ms: number
  bytes: Buffer
}

export function watchFile(file: string, bytes_max = Infinity): WatchedFile {
  let known: Known | null = null
  const reader = createReader(file)
  return {
    look() {
      const stat = plainFileAt(file)
      if (stat === null) return (known = null)
      if (stat.size > bytes_max) throw tooLarge(file, bytes_max)
      const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`
      if (known?.stamp_holds === true && known.stamp === stamp) return known.bytes
      const bytes = reader(known?.bytes ?? NOTHING)
      if (bytes === null) return (known = null)
      const changed_at_ms = Math.max(stat.mtimeMs, stat.ctimeMs)
      // What was read may be newer than the stamp; then the next look finds another stamp.
      const stamp_holds = Math.abs(Date.now() - changed_at_ms) > CLOCK_STEP_MS
      const grew = bytes.length !== stat.size
      known = { stamp, stamp_holds, written_at_ms: grew ? Date.now() : stat.mtimeMs, bytes }
      return bytes
    },
    // A time to come is that of a clock set back, and as far from now as one that has passed.
    age_ms: () => (known === null ? Infinity : Math.abs(Date.now() - known.written_at_ms)),
  }
}

const NOTHING = Buffer.alloc(0)
/** Every read is over before another begins. */
const piece = Buffer.allocUnsafeSlow(256 * 1024)

/**
 * Reads a file beside what is known of it. The same buffer where it says the same; where it only grew, one that
 * begins in the same memory, so that a large file costs no copy for every line.
 */
function createReader(file: string): (known: Buffer) => Buffer | null {
  let room: Buffer = NOTHING
  return (known) =>
    opened(file, (fd) => {
      // What stands behind the known is nobody's.
      let target = startsAlike(room, known) ? room : known
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

/** Whether both begin in the same place of the memory. */
export function startsAlike(some: Buffer, other: Buffer): boolean {
  return some.buffer === other.buffer && some.byteOffset === other.byteOffset
}

/** Null where there is none. */
export function plainFileAt(file: string): fs.Stats | null {
  const stat = statOf(file)
  if (stat === undefined) return null
  if (stat.isFile()) return stat
  throw new TurnbellError('store_unavailable', {
    detail: `${file} is ${stat.isSymbolicLink() ? 'a link, and what it leads to is left alone' : 'no plain file'}`,
    hint: 'Look at where it comes from and remove it; it is made anew as a file. Then call again.',
  })
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })
  } catch (error) {
    throw unreadable(file, error)
  }
}

export function tooLarge(file: string, bytes_max: number): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `${file} has more than ${bytes_max} bytes, and so much is not read`,
    hint: 'Look at what has filled it, and take out what is not needed. Then call again.',
  })
}

function opened<T>(file: string, work: (fd: number) => T): T | null {
  let fd: number
  try {
    fd = fs.openSync(file, READ_PLAIN)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null
    throw unreadable(file, cause)
  }
  try {
    return work(fd)
  } catch (error) {
    throw unreadable(file, error)
  } finally {
    fs.closeSync(fd)
  }
}
