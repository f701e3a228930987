/**
 * What a table says: one JSON array of the records, ordered by id. Each stands on a line of its own, the comma in
 * front of it: where git keeps the added lines of two sides, the whole mostly stays JSON.
 */
import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { handwrittenJson } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'
import { joined } from './both-sides.ts'
import { evenText } from './even-text.ts'
import { sidesOf } from './merge-marks.ts'
import { saysAllIds, scanObjects } from './object-scan.ts'
import { isObject } from './is-object.ts'
import { bareRow, recordValue } from './record-file.ts'
import { AS_WRITTEN, isNameless, type Reading } from './record-place.ts'
import type { RejectedLine } from './rejected-lines.ts'

export interface TableLine {
  row: RecordRow
  text: string
}

export interface TableText {
  bytes: Buffer
  lines: Map<string, TableLine>
  /** Objects without an id; their lines have one. */
  nameless: RecordBody[]
  left_over: RejectedLine[]
  /** Whether it can stay as it stands there. */
  good: boolean
}

export function tableText(texts: readonly string[]): string {
  return texts.length === 0 ? '[]\n' : `[\n${texts.join('\n,')}\n]\n`
}

export function linesInOrder({ lines }: Pick<TableText, 'lines'>): TableLine[] {
  return [...lines.values()].sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
}

export function tableLine(kind: string, text: string, stable_ids = false): TableLine {
  return { row: bareRow(kind, JSON.parse(text) as RecordBody, stable_ids) as RecordRow, text }
}

/** Rows that say the same as in `before` are the same objects. */
export function readTable(
  kind: string,
  bytes: Buffer,
  before: TableText | null,
  how: Reading = AS_WRITTEN,
): TableText {
  const text = bytes.toString('utf8')
  const { objects, left_over, good } = objectsOf(text)
  const table: TableText = { bytes, lines: new Map(), nameless: [], left_over: [], good }
  const reject = (line: string, reason: string) => table.left_over.push({ line: Buffer.from(line), reason })
  for (const { text: line, reason } of left_over) reject(line, reason)
  // What could be read of it is taken; what it was, only the bytes say.
  if (!isUtf8(bytes)) table.left_over.push({ line: bytes, reason: 'it is no UTF-8' })
  const versions = new Map<string, number>()
  for (const object of objects) {
    if (isNameless(object)) {
      table.nameless.push(object)
      continue
    }
    const line = JSON.stringify(object)
    const row = bareRow(kind, object, how.stable_ids)
    const said = versions.get(row?.id ?? '') ?? 0
    if (row === null) reject(line, 'its id is no text')
    else if (Buffer.byteLength(line) > LIMITS.record_file_bytes_max)
      reject(line, `it is larger than ${LIMITS.record_file_bytes_max} bytes`)
    else if (said === LIMITS.record_versions_max) reject(line, `${said} others say the same id`)
    else {
      versions.set(row.id, said + 1)
      table.lines.set(
        row.id,
        chosen(kind, table.lines.get(row.id), before?.lines.get(row.id), { row, text: line }),
      )
    }
  }
  // One that is there twice would be another record to everybody who reads it without turnbell.
  const once = table.lines.size + table.nameless.length + table.left_over.length === objects.length
  const { name } = how
  if (name !== null) {
    for (const line of table.nameless.map((value) => tableLine(kind, name(value), how.stable_ids))) {
      table.lines.set(line.row.id, line)
    }
  }
  return { ...table, good: good && once && table.nameless.length === 0 && table.left_over.length === 0 }
}

function objectsOf(text: string): {
  objects: RecordBody[]
  left_over: { text: string; reason: string }[]
  good: boolean
} {
  try {
    // The table itself is around its records.
    const value = handwrittenJson(text, LIMITS.json_depth_max + 1)
    if (Array.isArray(value) && value.every(isObject) && saysAllIds(text, value)) {
      return { objects: value, left_over: [], good: true }
    }
  } catch {
    // Then it is looked through for what it holds.
  }
  const [ours, theirs] = sidesOf(text).map(scanObjects)
  const left_over = new Map(
    [...(ours?.left_over ?? []), ...(theirs?.left_over ?? [])].map((one) => [one.text, one]),
  )
  return {
    objects: eachOnce([...(ours?.objects ?? []), ...(theirs?.objects ?? [])]),
    left_over: [...left_over.values()],
    good: false,
  }
}

/** Of those without an id; others are told apart by it. */
function eachOnce(objects: readonly RecordBody[]): RecordBody[] {
  const seen = new Set<string>()
  return objects.filter((object) => {
    if (!isNameless(object)) return true
    const text = evenText(object)
    return !seen.has(text) && seen.add(text)
  })
}

/** Of two that say the same id what either says: two branches changed it. */
function chosen(
  kind: string,
  other: TableLine | undefined,
  known: TableLine | undefined,
  found: TableLine,
): TableLine {
  const whole =
    other === undefined || other.text === found.text
      ? found
      : tableLine(kind, JSON.stringify(joinedRows(kind, other, found)))
  const same = known !== undefined && (known.text === whole.text || isDeepStrictEqual(known.row, whole.row))
  return same ? known : whole
}

function joinedRows(kind: string, { row: { id, body: some } }: TableLine, found: TableLine): RecordBody {
  return recordValue('bare', kind, id, joined(kind, some, found.row.body))
}
