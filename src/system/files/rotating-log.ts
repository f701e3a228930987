/**
 * Destination of pino: a file with rotation. Lines that cannot be written are dropped after one attempt, because a full
 * disk must not end a process or block its exit.
 */
import fs from 'node:fs'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { rotateIfLarge } from './log-rotation.ts'

export interface RotatingLog {
  /** Never throws. */
  write(text: string): void
  /** Starts writing the buffered lines. */
  startWrite(): void
  /** Writes the buffered lines synchronously, or drops them. */
  flush(): void
  /** Also closes the file. A later line reopens it. */
  close(): void
}

export interface RotatingLogOptions {
  /**
   * Enables asynchronous writes. By default each line is written at once, so that the last lines of a crashing process
   * are kept.
   */
  async?: {
    /** Size of the buffer at which it is written. */
    gathered_bytes: number
    /** Maximum size of the buffer. Further lines are dropped, because a stalled disk must not fill the memory. */
    waiting_bytes_max: number
  }
  bytes_max?: number
  /** Minimum interval between checks that the file still has its name. */
  look_ms?: number
  /** Called with the error of the first failed open or write. Not called when a full buffer drops lines. */
  onDropped?: (error: Error) => void
}

const LOOK_MS = 5_000

export function openRotatingLog(file: string, options: RotatingLogOptions = {}): RotatingLog {
  const {
    async: async_options,
    bytes_max = LIMITS.log_file_bytes_max,
    look_ms = LOOK_MS,
    onDropped,
  } = options
  const log_file = createLogFile(file, bytes_max, look_ms)
  const buffer = createLineBuffer()
  let closed = false
  let reported = false

  const drop = (error: unknown) => {
    if (reported) return
    reported = true
    onDropped?.(error as Error)
  }
  /** Returns the part that is not written yet. */
  const after = (written: number, of: Buffer): Buffer => {
    const rest = of.subarray(written)
    buffer.setTorn(rest.length > 0)
    log_file.onWritten(written, rest.length > 0)
    return rest
  }
  const flush = () => {
    try {
      for (let rest = buffer.take(); rest.length > 0;)
        rest = after(fs.writeSync(log_file.descriptor(), rest), rest)
    } catch (error) {
      drop(error)
    }
  }
  const writeAsync = (text: Buffer) => {
    const done = (error: Error | null, written: number) => {
      log_file.unlock()
      if (error !== null) drop(error)
      else {
        const rest = after(written, text)
        if (rest.length > 0) return writeAsync(rest)
      }
      if (isFull()) startWrite()
      if (closed) log_file.close()
    }
    try {
      fs.write(log_file.descriptor(), text, done)
      log_file.lock()
    } catch (error) {
      drop(error)
    }
  }
  /** Lines after `close` are written at once. */
  const isFull = () => closed || buffer.bytes() >= (async_options?.gathered_bytes ?? 0)
  const startWrite = () => {
    if (!log_file.isLocked() && buffer.bytes() > 0) writeAsync(buffer.take())
  }
  // Opened in advance, because the process may have no free descriptor when it has something to log.
  try {
    log_file.descriptor()
  } catch (error) {
    drop(error)
  }

  return {
    write(text) {
      const text_bytes = Buffer.byteLength(text)
      if (async_options !== undefined && buffer.bytes() + text_bytes > async_options.waiting_bytes_max) return
      buffer.add(text, text_bytes)
      if (async_options === undefined) flush()
      else if (isFull()) startWrite()
      if (closed) log_file.close()
    },
    startWrite,
    flush,
    close() {
      flush()
      closed = true
      log_file.close()
    },
  }
}

/** Lines that are not written yet. */
function createLineBuffer() {
  let lines: string[] = []
  let bytes = 0
  let torn = false
  return {
    bytes: () => bytes,
    add(text: string, text_bytes: number): void {
      lines.push(text)
      bytes += text_bytes
    },
    /** The file ends with an incomplete line, which must not be joined with the next one. */
    setTorn: (is_torn: boolean) => void (torn = is_torn),
    take(): Buffer {
      const text = lines.join('')
      lines = []
      bytes = 0
      return Buffer.from(torn ? `\n${text}` : text)
    },
  }
}

/** The open file; it is reopened if it was removed, and rotated when it is large. */
function createLogFile(file: string, bytes_max: number, look_ms: number) {
  let fd: number | null = null
  let bytes = 0
  let looked_at = performance.now()
  /** A running write uses the descriptor. If it were closed now, its number could be reused for another file. */
  let locked = false

  /** Whether the file was removed, renamed or replaced, for example by a cleaner. Checked at most every `look_ms`. */
  const isGone = (): boolean => {
    if (fd === null || locked || performance.now() - looked_at < look_ms) return false
    looked_at = performance.now()
    const named = fs.statSync(file, { throwIfNoEntry: false })
    const own = fs.fstatSync(fd)
    return named?.ino !== own.ino || named.dev !== own.dev
  }
  const close = () => {
    if (fd === null || locked) return
    try {
      fs.closeSync(fd)
    } catch {
      // The descriptor is unusable in any case.
    }
    fd = null
  }
  const rotate = () => {
    bytes = 0
    try {
      rotateIfLarge(file, bytes_max)
      const next = fs.openSync(file, 'a', 0o600)
      close()
      fd = next
    } catch {
      // The current file is kept; the rotation is retried after as much output.
    }
  }
  return {
    lock: () => void (locked = true),
    unlock: () => void (locked = false),
    isLocked: () => locked,
    close,
    descriptor(): number {
      if (isGone()) close()
      if (fd === null) {
        fd = fs.openSync(file, 'a', 0o600)
        bytes = fs.fstatSync(fd).size
      }
      return fd
    },
    /** Never rotates after an incomplete line. */
    onWritten(written: number, is_torn: boolean): void {
      bytes += written
      if (bytes >= bytes_max && !is_torn && !locked) rotate()
    },
  }
}
