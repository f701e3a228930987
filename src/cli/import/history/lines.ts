/** Reads history files line by line, each line up to a limit, and merges the files of one session by time. */
import fs from 'node:fs'
import { fieldsOf, textOf, type Fields } from './fields.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { READ_PLAIN } from '../../../system/files/safe-read.ts'

/** One line with a time. */
export interface HistoryLine {
  /** Milliseconds; never decreases within a file. */
  at: number
  value: Fields
}

/** What was not read. */
export interface SkippedLines {
  /** Lines that are not JSON objects. */
  damaged: number
  /** Lines above `history_line_bytes_max`. */
  too_long: number
}

/**
 * Yields the lines with a `timestamp`. The last line is left out while it is not complete. The file is closed between reads,
 * because a session may have hundreds of files.
 */
export function* historyLines(file: string, skipped: SkippedLines): Generator<HistoryLine> {
  let at = -Infinity
  for (const { bytes, is_complete } of rawLines(file, skipped)) {
    const value = parsed(bytes)
    if (value === null) {
      if (is_complete) skipped.damaged += 1
      continue
    }
    const time = Date.parse(textOf(value['timestamp']) ?? '')
    if (Number.isNaN(time)) continue
    at = Math.max(at, time)
    yield { at, value }
  }
}

/** Yields the lines of all streams by time; of the same time, those of the first stream first. */
export function* mergedByTime<Item extends { at: number }>(
  streams: readonly Iterable<Item>[],
): Generator<Item> {
  const heads = streams.map((stream) => {
    const rest = stream[Symbol.iterator]()
    return { rest, next: rest.next() }
  })
  for (;;) {
    let first: { rest: Iterator<Item>; next: IteratorResult<Item> } | null = null
    for (const head of heads) {
      if (head.next.done === true) continue
      if (first === null || head.next.value.at < (first.next.value as Item).at) first = head
    }
    if (first === null) return
    yield first.next.value as Item
    first.next = first.rest.next()
  }
}

interface RawLine {
  bytes: Buffer
  /** It ends with a newline. */
  is_complete: boolean
}

function* rawLines(file: string, skipped: SkippedLines): Generator<RawLine> {
  let parts: Buffer[] = []
  let length = 0
  const add = (bytes: Buffer) => {
    length += bytes.length
    // The rest of a line that is too long is not kept.
    if (length > LIMITS.history_line_bytes_max) parts = []
    else parts.push(bytes)
  }
  for (const chunk of chunks(file)) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, end))
      from = end + 1
      if (length > LIMITS.history_line_bytes_max) skipped.too_long += 1
      else if (length > 0) yield { bytes: Buffer.concat(parts), is_complete: true }
      parts = []
      length = 0
    }
    add(chunk.subarray(from))
  }
  if (length > 0 && length <= LIMITS.history_line_bytes_max)
    yield { bytes: Buffer.concat(parts), is_complete: false }
}

const NEWLINE = 0x0a

function* chunks(file: string): Generator<Buffer> {
  for (let position = 0; ;) {
    const fd = fs.openSync(file, READ_PLAIN)
    const buffer = Buffer.allocUnsafe(LIMITS.history_read_bytes)
    let read: number
    try {
      read = fs.readSync(fd, buffer, 0, buffer.length, position)
    } finally {
      fs.closeSync(fd)
    }
    if (read === 0) return
    position += read
    yield buffer.subarray(0, read)
  }
}

function parsed(bytes: Buffer): Fields | null {
  try {
    const value = JSON.parse(bytes.toString()) as unknown
    const fields = fieldsOf(value)
    return fields === value ? fields : null
  } catch {
    return null
  }
}
