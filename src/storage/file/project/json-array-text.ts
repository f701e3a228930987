/**
 * Parses and writes a record table: one JSON array, ordered by id. Each record is on its own line with the comma in
 * front, so that a union merge of added lines mostly stays valid JSON.
 */
import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { handwrittenJson } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { RecordBody, RecordRow } from '../../../ports/record-store.ts'
import { mergeRecords } from '../records/merge-records.ts'
import { canonicalJson } from '../../../contracts/validation/canonical-json.ts'
import { splitSides } from '../records/conflict-markers.ts'
import { hasAllIds, scanObjects } from '../records/lenient-json.ts'
import type { Json } from '../../../contracts/ids.ts'
import { isObject } from '../../../contracts/validation/is-object.ts'
import { bareRow, recordValue } from '../records/record-file.ts'
import { AS_WRITTEN, lacksId, type ReadMode } from './single-file-records.ts'
import type { RejectedLine } from '../records/quarantine-lines.ts'

export interface ArrayLine {
  row: RecordRow
  text: string
}

export interface JsonArrayText {
  bytes: Buffer
  lines: Map<string, ArrayLine>
  /** Objects without an id; their lines have one. */
  without_id: RecordBody[]
  unparsed: RejectedLine[]
  /** True if the file needs no rewrite. */
  is_clean: boolean
}

export function jsonArrayText(texts: readonly string[]): string {
  return texts.length === 0 ? '[]\n' : `[\n${texts.join('\n,')}\n]\n`
}

export function linesInOrder({ lines }: Pick<JsonArrayText, 'lines'>): ArrayLine[] {
  return [...lines.values()].sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
}

export function arrayLine(kind: string, text: string, stable_ids = false): ArrayLine {
  return { row: bareRow(kind, JSON.parse(text) as RecordBody, stable_ids) as RecordRow, text }
}

/** Parses a table. Rows equal to those in `before` are the same objects. */
export function parseJsonArray(
  kind: string,
  bytes: Buffer,
  before: JsonArrayText | null,
  how: ReadMode = AS_WRITTEN,
): JsonArrayText {
  const text = bytes.toString('utf8')
  const { objects, unparsed, is_clean } = parseObjects(text)
  const table: JsonArrayText = { bytes, lines: new Map(), without_id: [], unparsed: [], is_clean }
  const reject = (line: string, reason: string) => table.unparsed.push({ line: Buffer.from(line), reason })
  for (const { text: line, reason } of unparsed) reject(line, reason)
  // Readable objects are used; the original bytes are quarantined.
  if (!isUtf8(bytes)) table.unparsed.push({ line: bytes, reason: 'the file is not UTF-8' })
  const versions = new Map<string, number>()
  for (const object of objects) {
    if (lacksId(object)) {
      table.without_id.push(object)
      continue
    }
    const line = JSON.stringify(object)
    const row = bareRow(kind, object, how.stable_ids)
    const count = versions.get(row?.id ?? '') ?? 0
    if (row === null) reject(line, 'its id is not a string')
    else if (Buffer.byteLength(line) > LIMITS.record_file_bytes_max)
      reject(line, `the record is larger than ${LIMITS.record_file_bytes_max} bytes`)
    else if (count === LIMITS.record_versions_max) reject(line, `${count} others have the same id`)
    else {
      versions.set(row.id, count + 1)
      table.lines.set(
        row.id,
        mergeLine(kind, table.lines.get(row.id), before?.lines.get(row.id), { row, text: line }),
      )
    }
  }
  // Duplicates count as not clean, because other readers would see two records.
  const has_no_duplicates =
    table.lines.size + table.without_id.length + table.unparsed.length === objects.length
  const { name } = how
  if (name !== null) {
    for (const line of table.without_id.map((value) => arrayLine(kind, name(value), how.stable_ids))) {
      table.lines.set(line.row.id, line)
    }
  }
  const has_all_ids = table.without_id.length === 0
  return {
    ...table,
    is_clean: is_clean && has_no_duplicates && has_all_ids && table.unparsed.length === 0,
  }
}

function parseObjects(text: string): {
  objects: RecordBody[]
  unparsed: { text: string; reason: string }[]
  is_clean: boolean
} {
  try {
    // One more level, for the array itself.
    const value = handwrittenJson(text, LIMITS.json_depth_max + 1)
    if (Array.isArray(value) && value.every(isObject<Json>) && hasAllIds(text, value)) {
      return { objects: value, unparsed: [], is_clean: true }
    }
  } catch {
    // Not valid JSON: search it for objects.
  }
  const [ours, theirs] = splitSides(text).map(scanObjects)
  const unparsed = new Map(
    [...(ours?.unparsed ?? []), ...(theirs?.unparsed ?? [])].map((one) => [one.text, one]),
  )
  return {
    objects: dropDuplicates([...(ours?.objects ?? []), ...(theirs?.objects ?? [])]),
    unparsed: [...unparsed.values()],
    is_clean: false,
  }
}

/** Drops duplicates of objects without an id. */
function dropDuplicates(objects: readonly RecordBody[]): RecordBody[] {
  const seen = new Set<string>()
  return objects.filter((object) => {
    if (!lacksId(object)) return true
    const text = canonicalJson(object)
    return !seen.has(text) && seen.add(text)
  })
}

/** Merges two versions of one id, and reuses the known line if the result is equal. */
function mergeLine(
  kind: string,
  other: ArrayLine | undefined,
  known: ArrayLine | undefined,
  parsed: ArrayLine,
): ArrayLine {
  const merged =
    other === undefined || other.text === parsed.text
      ? parsed
      : arrayLine(kind, JSON.stringify(mergedValue(kind, other, parsed)))
  const same = known !== undefined && (known.text === merged.text || isDeepStrictEqual(known.row, merged.row))
  return same ? known : merged
}

function mergedValue(kind: string, { row: { id, body: some } }: ArrayLine, other: ArrayLine): RecordBody {
  return recordValue('bare', kind, id, mergeRecords(kind, some, other.row.body))
}
