/**
 * The event log on disk: two files of JSON lines. When the newer one is full, it replaces the older one.
 * Nothing is synced, because events are only a record of changes stored elsewhere. Reads use memory; the files
 * are for the next start and for `jq`.
 */
import fs from 'node:fs'
import path from 'node:path'
import { HubEvent } from '../../../contracts/events.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../../ports/clock.ts'
import type { EventLog } from '../../../ports/event-log.ts'
import { createMemoryEventLog } from '../../memory/event-log.ts'
import { appendFully } from '../project/append-file.ts'

export interface FileEventLogOptions {
  directory: string
  clock: Pick<Clock, 'now' | 'after'>
  events_max?: number
  /** Called once if the log cannot be written; it continues in memory. */
  onFailed?: (error: Error) => void
}

/** Time for which events are gathered before they are written together. */
export const GATHER_MS = 20
const NEWER = 'events.jsonl'
const OLDER = 'events.1.jsonl'
/**
 * Seqs skipped after an unclean stop. A kill may lose gathered events that a watcher has seen; a new event must not get the
 * seq of one of them.
 */
const SEQ_GAP = 10_000
/**
 * Number of unwritten seqs after which the current seq is recorded in the file, for a disk that is slow or full. A failed
 * attempt is repeated after the same number, several times before the gap is used up.
 */
const NOTE_EVERY = SEQ_GAP / 5
const CLOSED = '{"closed":true}\n'
/** Line that marks the log as open: without a later closing line the stop was unclean. */
const opened = (last_seq: number) => `{"opened_after":${last_seq}}\n`
const OPENED = /^\{"opened_after":(\d+)\}$/

export function openFileEventLog(options: FileEventLogOptions): EventLog {
  const { directory, clock, onFailed = () => {} } = options
  const events_max: number = options.events_max ?? LIMITS.event_log_events_max
  const newer = path.join(directory, NEWER)
  const older = path.join(directory, OLDER)
  const unusable = whyUnusable(directory, [older, newer])
  if (unusable !== null) {
    onFailed(unusable)
    return createMemoryEventLog(clock, { events_max, before: [], last_seq: Math.floor(clock.now()) })
  }
  const before = readEvents([older, newer])
  const last = Math.max(before.at(-1)?.seq ?? 0, ...openedAfter(older), ...openedAfter(newer))
  const is_new = size(newer) + size(older) === 0
  const clean = is_new || endsWith(newer, CLOSED) || (size(newer) === 0 && endsWith(older, CLOSED))
  const last_seq = clean ? last : last + SEQ_GAP
  const memory = createMemoryEventLog(clock, { events_max, before, last_seq })
  const files = new EventFiles({ newer, older, clock, events_max, onFailed }, last_seq)

  return {
    ...memory,
    written: () => files.written(),
    append(fresh) {
      const event = memory.append(fresh)
      files.append(event)
      return event
    },
    async close() {
      await memory.close()
      await files.written()
      files.close()
    },
  }
}

interface EventFilesOptions {
  newer: string
  older: string
  clock: Pick<Clock, 'after'>
  events_max: number
  onFailed: (error: Error) => void
}

/** Writes events to the newer file, gathered. After a failure it writes none, and only records the current seq. */
class EventFiles {
  private readonly options: EventFilesOptions
  private fd: number | null
  private in_newer: number
  /** Seq recorded in the files. -Infinity until a record exists that distinguishes an unclean stop from a clean one. */
  private noted = -Infinity
  private current_seq: number
  /** Seq at the last attempt to record it, and whether that may have left a partial line. */
  private tried: number
  private torn = false
  private waiting: string[] = []
  private writing = false
  private gathering: Timer | null = null
  private readonly settled: (() => void)[] = []

  constructor(options: EventFilesOptions, last_seq: number) {
    const { newer } = options
    this.options = options
    this.current_seq = last_seq
    this.tried = last_seq
    this.fd = fs.openSync(newer, 'a', 0o600)
    try {
      // Starts a new line if the file ends with a torn one.
      appendFully(this.fd, Buffer.from(endsWithin(newer) ? `\n${opened(last_seq)}` : opened(last_seq)))
      this.noted = last_seq
    } catch (error) {
      this.fail(error as Error)
    }
    this.in_newer = countLines(newer)
  }

  append(event: HubEvent): void {
    const { events_max } = this.options
    this.current_seq = event.seq
    this.noteIfDue()
    if (this.fd === null) return
    this.waiting.push(`${JSON.stringify(event)}\n`)
    // On a slow disk, events that the files would soon discard again are not written.
    if (this.waiting.length > 2 * events_max) this.waiting = this.waiting.slice(-events_max)
    this.schedule()
  }

  written(): Promise<void> {
    return new Promise((resolve) => {
      this.settled.push(resolve)
      this.flush()
    })
  }

  close(): void {
    const { fd } = this
    this.fd = null
    try {
      if (fd === null) this.note(CLOSED)
      else appendFully(fd, Buffer.from(CLOSED))
    } catch {
      // The disk is full: the stop counts as unclean, and the next start skips seqs.
    } finally {
      if (fd !== null) closeQuietly(fd)
    }
  }

  private fail(error: Error): void {
    this.waiting = []
    if (this.fd === null) return
    closeQuietly(this.fd)
    this.fd = null
    this.options.onFailed(error)
  }

  private rotate(): void {
    const { newer, older } = this.options
    fs.renameSync(newer, older)
    const next = fs.openSync(newer, 'a', 0o600)
    fs.closeSync(this.fd as number)
    this.fd = next
    this.in_newer = 0
  }

  private schedule(): void {
    if (this.writing) return
    this.gathering ??= this.options.clock.after(GATHER_MS, () => this.flush())
  }

  private flush(): void {
    const { events_max } = this.options
    this.gathering?.cancel()
    this.gathering = null
    if (this.writing) return
    if (this.fd === null || this.waiting.length === 0) {
      for (const settle of this.settled.splice(0)) settle()
      return
    }
    try {
      if (this.in_newer >= events_max) this.rotate()
    } catch (error) {
      this.fail(error as Error)
      return this.flush()
    }
    const now = this.waiting.splice(0, events_max - this.in_newer)
    const lines = Buffer.from(`${this.torn ? '\n' : ''}${now.join('')}`)
    this.torn = false
    this.in_newer += now.length
    this.writing = true
    const up_to = this.current_seq - this.waiting.length
    write(this.fd, lines, 0, (error) => {
      this.writing = false
      if (error !== null) this.fail(error)
      else this.noted = Math.max(this.noted, up_to)
      if (this.settled.length > 0) this.flush()
      else if (this.waiting.length > 0) this.schedule()
    })
  }

  /** Records the current seq, after any partial line of a failed write. Throws if it cannot be written. */
  private note(text: string): void {
    this.tried = this.current_seq
    const to = this.fd ?? fs.openSync(this.options.newer, 'a', 0o600)
    try {
      appendFully(to, Buffer.from(`\n${opened(this.current_seq)}${text}`))
      this.noted = this.current_seq
    } finally {
      if (to !== this.fd) closeQuietly(to)
    }
  }

  private noteIfDue(): void {
    const unrecorded = this.current_seq - this.noted
    if (unrecorded < NOTE_EVERY || (unrecorded < Infinity && this.current_seq - this.tried < NOTE_EVERY))
      return
    try {
      this.note('')
    } catch {
      // Tried again later, or at the close.
      this.torn = true
    }
  }
}

/** Returns why the files cannot be used; the hub then starts without its event history. */
function whyUnusable(directory: string, files: readonly string[]): Error | null {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
    for (const file of files) {
      if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) continue
      if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
        return new Error(`${file} is not a regular file`)
    }
    return null
  } catch (error) {
    // A full or read-only disk is reported when the journal is opened.
    if (!['EEXIST', 'ENOTDIR', 'ELOOP', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
    return error as Error
  }
}

function closeQuietly(fd: number): void {
  try {
    fs.closeSync(fd)
  } catch {
    // A write error was reported by the write.
  }
}

function write(fd: number, bytes: Buffer, from: number, done: (error: Error | null) => void): void {
  fs.write(fd, bytes, from, bytes.length - from, null, (error, written) => {
    if (error !== null || from + written === bytes.length) done(error)
    else write(fd, bytes, from + written, done)
  })
}

/** Returns the number of lines that are neither events nor the log's own records. A line torn by a kill is not counted. */
export function unreadableEvents(file: string): number {
  const lines = readText(file).split('\n').slice(0, -1)
  const is_own = (line: string) => line === '' || `${line}\n` === CLOSED || OPENED.test(line)
  const is_torn = (at: number) => OPENED.test(lines[at + 1] ?? '')
  return lines.filter((line, at) => !is_own(line) && !is_torn(at) && parse(line) === null).length
}

/** Reads all events, skipping torn and unknown lines. */
function readEvents(files: readonly string[]): HubEvent[] {
  const events: HubEvent[] = []
  for (const line of files.flatMap((file) => readText(file).split('\n'))) {
    if (line === '') continue
    const event = parse(line)
    // Seqs only ascend; a line with a lower seq was not written by this log.
    if (event !== null && event.seq > (events.at(-1)?.seq ?? 0)) events.push(event)
  }
  return events
}

/** Returns the seqs recorded in the file. A former process may have used seqs up to there without writing its events. */
function openedAfter(file: string): number[] {
  return readText(file)
    .split('\n')
    .flatMap((line) => OPENED.exec(line)?.[1] ?? [])
    .map(Number)
}

function parse(line: string): HubEvent | null {
  try {
    const parsed = HubEvent.safeParse(JSON.parse(line))
    return parsed.success ? parsed.data : null
  } catch {
    return null
  }
}

function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function countLines(file: string): number {
  return readText(file).split('\n').length - 1
}

function size(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Returns whether the file ends with a partial line. */
function endsWithin(file: string): boolean {
  return size(file) > 0 && !endsWith(file, '\n')
}

function endsWith(file: string, ending: string): boolean {
  return readText(file).endsWith(ending)
}
