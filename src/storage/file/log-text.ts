/**
 * What a log says: a JSON object a line, the last line of an id counts. A merge that kept both sides, or a
 * crash between two writes, may leave a line twice; that says the same once.
 */
import { isUtf8 } from 'node:buffer'
import { handwrittenJson, whyNoJson } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'
import { isObject } from './is-object.ts'
import { bareRow } from './record-file.ts'
import { AS_WRITTEN, isNameless, type Reading } from './record-place.ts'
import { markOfMerge } from './merge-marks.ts'
import { startsAlike } from './watched-file.ts'

export interface LogLine {
  start: number
  /** Behind its newline, where it has one. */
  end: number
  row: RecordRow | null
  /** Why it is no record. */
  bad: string | null
  /** An object without an id; its row has one. */
  nameless: RecordBody | null
}

export interface LogText {
  bytes: Buffer
  lines: LogLine[]
  /** The current row of every id. */
  rows: Map<string, RecordRow>
  /** In the order of their ids; null until somebody asks. */
  sorted: readonly RecordRow[] | null
  /** Those that are no rows and not blank. */
  troubled: LogLine[]
}

/** Reads only what stands behind `before`, where that is still there byte for byte; its map of rows is used up. */
export function readLog(
  kind: string,
  bytes: Buffer,
  before: LogText | null,
  how: Reading = AS_WRITTEN,
): LogText {
  const whole = before === null ? 0 : endOfWhole(before)
  const grew = before !== null && whole > 0 && startsWith(bytes, before.bytes.subarray(0, whole))
  if (grew && whole === before.bytes.length) {
    return addLines({ ...before, bytes }, whole, (raw) => readLine(kind, raw, how))
  }
  const known = before === null ? null : rowsByText(before)
  const empty: LogText = { bytes, lines: [], rows: new Map(), sorted: null, troubled: [] }
  return addLines(empty, 0, (raw) => {
    const row = known?.get(keyOf(raw))
    return row === undefined ? readLine(kind, raw, how) : { row, bad: null, nameless: null }
  })
}

export function sortedRows(text: LogText): readonly RecordRow[] {
  text.sorted ??= [...text.rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  return text.sorted
}

/** Whether the line is the last one and has no end yet. */
export function isOpen(text: LogText, line: LogLine): boolean {
  return line.end === text.bytes.length && !endsInLine(text.bytes)
}

export function endsInLine(bytes: Buffer): boolean {
  return bytes.length === 0 || bytes.at(-1) === NEWLINE
}

/** The beginning of a line that somebody may still go on with: the last one, where it is no record as it stands. */
export function halfLine(text: LogText): LogLine | null {
  const last = text.troubled.at(-1)
  return last !== undefined && last.bad !== null && isOpen(text, last) ? last : null
}

export function startsWith(bytes: Buffer, head: Buffer): boolean {
  if (bytes.length < head.length) return false
  return startsAlike(bytes, head) || bytes.subarray(0, head.length).equals(head)
}

const NEWLINE = 0x0a

function endOfWhole({ bytes }: LogText): number {
  return bytes.lastIndexOf(NEWLINE) + 1
}

function rowsByText({ bytes, lines }: LogText): Map<string, RecordRow> {
  const rows = new Map<string, RecordRow>()
  for (const { start, end, row, nameless } of lines) {
    if (row !== null && nameless === null) rows.set(keyOf(bytes.subarray(start, end)), row)
  }
  return rows
}

/** The same with its newline and without, which it has not where it is the last. */
function keyOf(raw: Buffer): string {
  return raw.toString('latin1', 0, raw.at(-1) === NEWLINE ? raw.length - 1 : raw.length)
}

type LineSays = Pick<LogLine, 'row' | 'bad' | 'nameless'>

function addLines(text: LogText, from: number, read: (raw: Buffer) => LineSays): LogText {
  const { bytes, rows } = text
  const [lines, troubled] = [[...text.lines], [...text.troubled]]
  let sorted = text.sorted === null ? null : [...text.sorted]
  for (let start = from; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline === -1 ? bytes.length : newline + 1
    const line: LogLine = { start, end, ...read(bytes.subarray(start, end)) }
    lines.push(line)
    if (line.row !== null) {
      // Ids grow with time: what is new mostly stands behind all others.
      if (sorted !== null && line.row.id > (sorted.at(-1)?.id ?? '')) sorted.push(line.row)
      else sorted = null
      rows.set(line.row.id, line.row)
    }
    if (line.bad !== null || line.nameless !== null) troubled.push(line)
    start = end
  }
  return { ...text, lines, troubled, sorted }
}

function readLine(kind: string, raw: Buffer, { name, stable_ids }: Reading): LineSays {
  const bad = (reason: string): LineSays => ({ row: null, bad: reason, nameless: null })
  const bytes_max = LIMITS.record_file_bytes_max
  if (raw.length > bytes_max + 2) return bad(`it is larger than ${bytes_max} bytes`)
  if (!isUtf8(raw)) return bad('it is no UTF-8')
  const text = raw.toString('utf8')
  if (text.trim() === '') return { row: null, bad: null, nameless: null }
  let value: unknown
  try {
    value = handwrittenJson(text)
  } catch (error) {
    return bad(markOfMerge(text) ?? whyNoJson(error))
  }
  if (!isObject(value)) return bad('it is no object')
  if (isNameless(value)) {
    const row = name === null ? null : bareRow(kind, JSON.parse(name(value)) as RecordBody, stable_ids)
    return { row, bad: null, nameless: value }
  }
  const row = bareRow(kind, value, stable_ids)
  return row === null ? bad('its id is no text') : { row, bad: null, nameless: null }
}
