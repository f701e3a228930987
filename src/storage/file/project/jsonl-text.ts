/**
 * Parses a record log: one JSON object per line; the last line of an id is current. A merge that kept both sides,
 * or a crash between two writes, may leave duplicate lines, which are harmless.
 */
import { isUtf8 } from 'node:buffer'
import { handwrittenJson, jsonErrorText } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { RecordBody, RecordRow } from '../../../ports/record-store.ts'
import type { Json } from '../../../contracts/ids.ts'
import { isObject } from '../../../contracts/validation/is-object.ts'
import { bareRow } from '../records/record-file.ts'
import { AS_WRITTEN, lacksId, type ReadMode } from './single-file-records.ts'
import { conflictMarkerReason } from '../records/conflict-markers.ts'
import { sharesStart } from './watched-file.ts'

export interface JsonlLine {
  start: number
  /** Offset after the newline, or the end of the file. */
  end: number
  row: RecordRow | null
  /** Why the line is invalid; null if it is not. */
  error: string | null
  /** The object if it has no id; its row has one. */
  without_id: RecordBody | null
}

export interface JsonlText {
  bytes: Buffer
  lines: JsonlLine[]
  /** The current row of every id. */
  rows: Map<string, RecordRow>
  /** Rows in the order of their ids; null until requested. */
  sorted: readonly RecordRow[] | null
  /** Lines that are invalid or lack an id. */
  invalid: JsonlLine[]
}

/** Parses a log. If it only grew since `before`, parses only the new bytes and reuses (consumes) the map of rows. */
export function parseJsonl(
  kind: string,
  bytes: Buffer,
  before: JsonlText | null,
  how: ReadMode = AS_WRITTEN,
): JsonlText {
  const end = before === null ? 0 : endOfLines(before)
  const grew = before !== null && end > 0 && startsWith(bytes, before.bytes.subarray(0, end))
  if (grew && end === before.bytes.length) {
    return addLines({ ...before, bytes }, end, (raw) => readLine(kind, raw, how))
  }
  const former_rows = before === null ? null : rowsByText(before)
  const empty: JsonlText = { bytes, lines: [], rows: new Map(), sorted: null, invalid: [] }
  return addLines(empty, 0, (raw) => {
    const row = former_rows?.get(keyOf(raw))
    return row === undefined ? readLine(kind, raw, how) : { row, error: null, without_id: null }
  })
}

export function sortedRows(text: JsonlText): readonly RecordRow[] {
  text.sorted ??= [...text.rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  return text.sorted
}

/** Returns whether the line is the last one and has no newline yet. */
export function isUnterminated(text: JsonlText, line: JsonlLine): boolean {
  return line.end === text.bytes.length && !endsWithNewline(text.bytes)
}

export function endsWithNewline(bytes: Buffer): boolean {
  return bytes.length === 0 || bytes.at(-1) === NEWLINE
}

/** Returns the last line if it is invalid and has no newline: another program may still be writing it. */
export function partialLine(text: JsonlText): JsonlLine | null {
  const last = text.invalid.at(-1)
  return last !== undefined && last.error !== null && isUnterminated(text, last) ? last : null
}

export function startsWith(bytes: Buffer, head: Buffer): boolean {
  if (bytes.length < head.length) return false
  return sharesStart(bytes, head) || bytes.subarray(0, head.length).equals(head)
}

const NEWLINE = 0x0a

function endOfLines({ bytes }: JsonlText): number {
  return bytes.lastIndexOf(NEWLINE) + 1
}

function rowsByText({ bytes, lines }: JsonlText): Map<string, RecordRow> {
  const rows = new Map<string, RecordRow>()
  for (const { start, end, row, without_id } of lines) {
    if (row !== null && without_id === null) rows.set(keyOf(bytes.subarray(start, end)), row)
  }
  return rows
}

/** Returns the line's text as a key, without its newline. */
function keyOf(raw: Buffer): string {
  return raw.toString('latin1', 0, raw.at(-1) === NEWLINE ? raw.length - 1 : raw.length)
}

type ParsedLine = Pick<JsonlLine, 'row' | 'error' | 'without_id'>

function addLines(text: JsonlText, from: number, read: (raw: Buffer) => ParsedLine): JsonlText {
  const { bytes, rows } = text
  const [lines, invalid] = [[...text.lines], [...text.invalid]]
  let sorted = text.sorted === null ? null : [...text.sorted]
  for (let start = from; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline === -1 ? bytes.length : newline + 1
    const line: JsonlLine = { start, end, ...read(bytes.subarray(start, end)) }
    lines.push(line)
    if (line.row !== null) {
      // Ids ascend with time, so most new rows sort after all others.
      if (sorted !== null && line.row.id > (sorted.at(-1)?.id ?? '')) sorted.push(line.row)
      else sorted = null
      rows.set(line.row.id, line.row)
    }
    if (line.error !== null || line.without_id !== null) invalid.push(line)
    start = end
  }
  return { ...text, lines, invalid, sorted }
}

function readLine(kind: string, raw: Buffer, { name, stable_ids }: ReadMode): ParsedLine {
  const invalid = (reason: string): ParsedLine => ({ row: null, error: reason, without_id: null })
  const bytes_max = LIMITS.record_file_bytes_max
  if (raw.length > bytes_max + 2) return invalid(`the line is larger than ${bytes_max} bytes`)
  if (!isUtf8(raw)) return invalid('the line is not UTF-8')
  const text = raw.toString('utf8')
  if (text.trim() === '') return { row: null, error: null, without_id: null }
  let value: unknown
  try {
    value = handwrittenJson(text)
  } catch (error) {
    return invalid(conflictMarkerReason(text) ?? jsonErrorText(error))
  }
  if (!isObject<Json>(value)) return invalid('the line is not an object')
  if (lacksId(value)) {
    const row = name === null ? null : bareRow(kind, JSON.parse(name(value)) as RecordBody, stable_ids)
    return { row, error: null, without_id: value }
  }
  const row = bareRow(kind, value, stable_ids)
  return row === null ? invalid('its id is not a string') : { row, error: null, without_id: null }
}
