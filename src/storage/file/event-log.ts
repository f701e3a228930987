/**
 * The event log on disk: two files of JSON lines, of which the older one is let go when the newer one is
 * full. Nothing is synced: events tell what happened, they are not what happened. Reads are answered from
 * memory; the files are there for the next start and for `jq`.
 */
import fs from 'node:fs'
import path from 'node:path'
import { HubEvent } from '../../contracts/events.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { createMemoryEventLog } from '../memory/event-log.ts'
import { writeBehind } from './append-file.ts'

export interface FileEventLogOptions {
  directory: string
  clock: Pick<Clock, 'now' | 'after'>
  events_max?: number
  /** The log could not be written; it goes on in memory. Called once. */
  onFailed?: (error: Error) => void
}

/** How long events wait for others before they are written to the disk together. */
export const GATHER_MS = 20
const NEWER = 'events.jsonl'
const OLDER = 'events.1.jsonl'
/**
 * Events are gathered for a moment before they are written, so a kill may lose some that a watcher has seen. After an
 * unclean end the seq goes on further up, so that nobody takes a new event for one it has seen already.
 */
const SEQ_GAP = 10_000
/**
 * Where the disk does not keep up, or takes nothing more, the seqs get ahead of the files. After so many it is written down
 * how far they are, and where that fails it is tried again after so many more: several times before the gap is used up.
 */
const NOTE_EVERY = SEQ_GAP / 5
const CLOSED = '{"closed":true}\n'
/** From here on the end is not clean, whether an event has come to the file since or not. */
const opened = (last_seq: number) => `{"opened_after":${last_seq}}\n`
const OPENED = /^\{"opened_after":(\d+)\}$/

export function openFileEventLog(options: FileEventLogOptions): EventLog {
  const { directory, clock, onFailed = () => {} } = options
  const events_max: number = options.events_max ?? LIMITS.event_log_events_max
  const newer = path.join(directory, NEWER)
  const older = path.join(directory, OLDER)
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  const before = readEvents([older, newer])
  const last = Math.max(before.at(-1)?.seq ?? 0, ...openedAfter(older), ...openedAfter(newer))
  const is_new = size(newer) + size(older) === 0
  const clean = is_new || endsWith(newer, CLOSED) || (size(newer) === 0 && endsWith(older, CLOSED))
  const last_seq = clean ? last : last + SEQ_GAP
  const memory = createMemoryEventLog(clock, { events_max, before, last_seq })

  let fd: number | null = fs.openSync(newer, 'a', 0o600)
  /** The seq up to which the files say that events were told. Until they say it of any, nothing tells that end from a clean one. */
  let noted = -Infinity
  let told = last_seq
  /** Where it was last tried to say so, and whether half of that may stand in the file. */
  let tried = last_seq
  let torn = false
  let waiting: string[] = []
  let writing = false
  let gathering: Timer | null = null
  const settled: (() => void)[] = []

  const fail = (error: Error) => {
    waiting = []
    if (fd === null) return
    closeQuietly(fd)
    fd = null
    onFailed(error)
  }
  try {
    // A torn line must not swallow the next one.
    writeBehind(fd, Buffer.from(endsWithin(newer) ? `\n${opened(last_seq)}` : opened(last_seq)))
    noted = last_seq
  } catch (error) {
    fail(error as Error)
  }
  let in_newer = countLines(newer)
  const rotate = () => {
    fs.renameSync(newer, older)
    const next = fs.openSync(newer, 'a', 0o600)
    fs.closeSync(fd as number)
    fd = next
    in_newer = 0
  }
  const schedule = () => {
    if (writing) return
    gathering ??= clock.after(GATHER_MS, flush)
  }
  const flush = () => {
    gathering?.cancel()
    gathering = null
    if (writing) return
    if (fd === null || waiting.length === 0) {
      for (const settle of settled.splice(0)) settle()
      return
    }
    try {
      if (in_newer >= events_max) rotate()
    } catch (error) {
      fail(error as Error)
      return flush()
    }
    const now = waiting.splice(0, events_max - in_newer)
    const lines = Buffer.from(`${torn ? '\n' : ''}${now.join('')}`)
    torn = false
    in_newer += now.length
    writing = true
    const up_to = told - waiting.length
    write(fd, lines, 0, (error) => {
      writing = false
      if (error !== null) fail(error)
      else noted = Math.max(noted, up_to)
      if (settled.length > 0) flush()
      else if (waiting.length > 0) schedule()
    })
  }

  /** Behind whatever half a line a failed write has left. Throws where that cannot be written. */
  const note = (text: string) => {
    tried = told
    const to = fd ?? fs.openSync(newer, 'a', 0o600)
    try {
      writeBehind(to, Buffer.from(`\n${opened(told)}${text}`))
      noted = told
    } finally {
      if (to !== fd) closeQuietly(to)
    }
  }
  const noteIfDue = () => {
    const behind = told - noted
    if (behind < NOTE_EVERY || (behind < Infinity && told - tried < NOTE_EVERY)) return
    try {
      note('')
    } catch {
      // The next time, or at the end.
      torn = true
    }
  }

  const written = () =>
    new Promise<void>((resolve) => {
      settled.push(resolve)
      flush()
    })

  return {
    ...memory,
    written,
    append(fresh) {
      const event = memory.append(fresh)
      told = event.seq
      noteIfDue()
      if (fd === null) return event
      waiting.push(`${JSON.stringify(event)}\n`)
      // The disk does not keep up: what the files would let go of again is not written at all.
      if (waiting.length > 2 * events_max) waiting = waiting.slice(-events_max)
      schedule()
      return event
    },
    async close() {
      await memory.close()
      await written()
      const open = fd
      fd = null
      try {
        if (open === null) note(CLOSED)
        else writeBehind(open, Buffer.from(CLOSED))
      } catch {
        // A full disk. The end is not clean, then, and the next start goes on further up.
      } finally {
        if (open !== null) closeQuietly(open)
      }
    },
  }
}

function closeQuietly(fd: number): void {
  try {
    fs.closeSync(fd)
  } catch {
    // What could not be written is told by whoever tried.
  }
}

function write(fd: number, bytes: Buffer, from: number, done: (error: Error | null) => void): void {
  fs.write(fd, bytes, from, bytes.length - from, null, (error, written) => {
    if (error !== null || from + written === bytes.length) done(error)
    else write(fd, bytes, from + written, done)
  })
}

/** Torn and foreign lines are skipped. */
function readEvents(files: readonly string[]): HubEvent[] {
  const events: HubEvent[] = []
  for (const line of files.flatMap((file) => readText(file).split('\n'))) {
    if (line === '') continue
    const event = parse(line)
    // Seqs only grow; a line that steps back was not written by us.
    if (event !== null && event.seq > (events.at(-1)?.seq ?? 0)) events.push(event)
  }
  return events
}

/** Where former openings went on, which may have told of more than they came to write. */
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

/** Half a line stands at its end. */
function endsWithin(file: string): boolean {
  return size(file) > 0 && !endsWith(file, '\n')
}

function endsWith(file: string, ending: string): boolean {
  return readText(file).endsWith(ending)
}
