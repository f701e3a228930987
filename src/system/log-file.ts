/**
 * Where pino writes to: a file that begins anew once it has grown long. What cannot be written is dropped, with the first
 * try: nobody waits for a log line, and a full disk must neither end a process nor keep it from ending.
 */
import fs from 'node:fs'
import { LIMITS } from '../contracts/limits.ts'
import { setAsideIfLong } from './long-file.ts'

export interface LogFile {
  /** Never throws. */
  write(text: string): void
  /** What is gathered begins to be written behind. */
  handOver(): void
  /** What is gathered is written now, or dropped. */
  flush(): void
  /** Lets go of the file as well. A line that comes later opens it for itself. */
  close(): void
}

export interface LogFileOptions {
  /** Without it each line is written at once, so that a process that dies does not take the reason with it. */
  behind?: {
    /** So much is gathered before it is written. */
    gathered_bytes: number
    /** Lines beyond this are dropped: a disk that stands still must not fill the memory. */
    waiting_bytes_max: number
  }
  bytes_max?: number
  /** Once, with why lines are dropped. */
  onDropped?: (error: Error) => void
}

export function openLogFile(file: string, options: LogFileOptions = {}): LogFile {
  const { behind, bytes_max = LIMITS.log_file_bytes_max, onDropped } = options
  let fd: number | null = null
  let bytes = 0
  /** Half a line stands at the end: what comes next must not be taken for its other half. */
  let torn = false
  let waiting: string[] = []
  let waiting_bytes = 0
  /** A write that may still be to come has the descriptor: closed now, its number could become another file's. */
  let under_way = false
  let closed = false
  let told = false

  const drop = (error: unknown) => {
    if (told) return
    told = true
    onDropped?.(error as Error)
  }
  const opened = (): number => {
    if (fd === null) {
      fd = fs.openSync(file, 'a', 0o600)
      bytes = fs.fstatSync(fd).size
    }
    return fd
  }
  const letGo = () => {
    if (fd === null || under_way) return
    try {
      fs.closeSync(fd)
    } catch {
      // Gone all the same.
    }
    fd = null
  }
  const take = (): Buffer => {
    const text = waiting.join('')
    waiting = []
    waiting_bytes = 0
    return Buffer.from(torn ? `\n${text}` : text)
  }
  /** What of it has still to be written. */
  const after = (written: number, of: Buffer): Buffer => {
    const rest = of.subarray(written)
    torn = rest.length > 0
    bytes += written
    if (bytes >= bytes_max && !torn && !under_way) beginAnew()
    return rest
  }
  const beginAnew = () => {
    bytes = 0
    try {
      setAsideIfLong(file, bytes_max)
      const next = fs.openSync(file, 'a', 0o600)
      letGo()
      fd = next
    } catch {
      // It goes on as it is, and is tried again when as much has come.
    }
  }
  const flush = () => {
    try {
      for (let rest = take(); rest.length > 0;) rest = after(fs.writeSync(opened(), rest), rest)
    } catch (error) {
      drop(error)
    }
  }
  const writeBehind = (text: Buffer) => {
    const done = (error: Error | null, written: number) => {
      under_way = false
      if (error !== null) drop(error)
      else {
        const rest = after(written, text)
        if (rest.length > 0) return writeBehind(rest)
      }
      if (gathered()) handOver()
      if (closed) letGo()
    }
    try {
      fs.write(opened(), text, done)
      under_way = true
    } catch (error) {
      drop(error)
    }
  }
  /** Nobody hands over what comes after the end. */
  const gathered = () => closed || waiting_bytes >= (behind?.gathered_bytes ?? 0)
  const handOver = () => {
    if (!under_way && waiting.length > 0) writeBehind(take())
  }
  // Opened before the first line comes: a process may have no descriptor left when it has something to say.
  try {
    opened()
  } catch (error) {
    drop(error)
  }

  return {
    write(text) {
      const text_bytes = Buffer.byteLength(text)
      if (behind !== undefined && waiting_bytes + text_bytes > behind.waiting_bytes_max) return
      waiting.push(text)
      waiting_bytes += text_bytes
      if (behind === undefined) flush()
      else if (gathered()) handOver()
      if (closed) letGo()
    },
    handOver,
    flush,
    close() {
      flush()
      closed = true
      letGo()
    },
  }
}
