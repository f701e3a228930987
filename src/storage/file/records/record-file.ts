/**
 * The text and the file name of one record.
 *
 * There are three forms. Wrapped is `{kind, id, body}` and takes any body. Plain is the body itself, which contains
 * its kind and id: easy to read, to search with jq and to diff. Bare is the same without the kind, for kinds with a
 * folder of their own. A body that could not be read back in plain or bare form is written wrapped.
 */
import { createHash } from 'node:crypto'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { handwrittenJson, isDeeper, jsonErrorText } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { mergeRecords, hasDuplicateFields, parseVersions } from './merge-records.ts'
import type { Json } from '../../../contracts/ids.ts'
import { isObject } from '../../../contracts/validation/is-object.ts'
import { hasConflictMarkers } from './conflict-markers.ts'
import { withUlid } from '../../../ports/foreign-id.ts'
import type { RecordBody, RecordRow } from '../../../ports/record-store.ts'

export type RecordForm = 'wrapped' | 'plain' | 'bare'

/**
 * `merged`: merged from the sides of a git conflict; the file should be rewritten. `reason`: why the text is not a
 * record of this folder. `stays`: a conflict that people have to resolve, so the file is not quarantined.
 */
export type ParsedRecord = (RecordRow & { merged?: true }) | { reason: string; stays?: true }

/** Returns the text of a record's file. Throws `record_too_large`. */
export function recordText(form: RecordForm, kind: string, id: string, body: RecordBody): string {
  const spread = JSON.stringify(checkedValue(form, kind, id, body), null, 2)
  const text = `${spread.replace(PLAIN_LIST, (list) => list.replace(/\n */g, ' ').replace(/^\[ | \]$/g, (end) => end.trim()))}\n`
  // `readRecordFile` accepts no larger files.
  if (Buffer.byteLength(text) <= LIMITS.record_file_bytes_max) return text
  throw new TurnbellError('record_too_large', {
    detail: `${kind} ${id} would take more than ${LIMITS.record_file_bytes_max} bytes`,
  })
}

/**
 * Matches a list of scalars, which is written on one line. If two branches add to it, a git conflict then contains two
 * complete fields instead of parts of one.
 */
const PLAIN_LIST = /\[\n(?: *(?:"(?:[^"\\]|\\.)*"|[\w.+-]+),?\n)+ *\]/g

/** Returns the value to write: the body, or the wrapped body if it does not contain its own kind and id. */
export function recordValue(form: RecordForm, kind: string, id: string, body: RecordBody): RecordBody {
  const names_itself = body['id'] === id && (form === 'bare' || body['kind'] === kind) && !isWrapped(body)
  return form !== 'wrapped' && names_itself ? body : { kind, id, body }
}

/** Returns the value to write. Throws `record_too_large` if it is nested too deeply to be read back. */
export function checkedValue(form: RecordForm, kind: string, id: string, body: RecordBody): RecordBody {
  const value = recordValue(form, kind, id, body)
  if (!isDeeper(value, LIMITS.json_depth_max)) return value
  throw new TurnbellError('record_too_large', {
    detail: `${kind} ${id} would be nested more than ${LIMITS.json_depth_max} deep`,
    hint: 'Use fewer nested lists and objects, or write the content to a file of the project and refer to its path.',
  })
}

/** Parses a record. `name` is the file name without extension. `stable_ids`: returns a foreign id as its ULID. */
export function parseRecord(
  form: RecordForm,
  kind: string,
  name: string,
  text: string,
  stable_ids = false,
): ParsedRecord {
  // Wrapped records are in a home, which is not under git.
  const mayMerge = form !== 'wrapped'
  let value: unknown
  try {
    value = handwrittenJson(text)
  } catch (error) {
    const merged = mayMerge ? mergedRow(form, kind, name, parseVersions(text), stable_ids) : null
    if (merged !== null) return merged
    if (mayMerge && hasConflictMarkers(text))
      return { reason: 'the file contains an unresolved merge conflict', stays: true }
    return { reason: jsonErrorText(error) }
  }
  const record = isObject<Json>(value) ? value : {}
  const versions = mayMerge && hasDuplicateFields(text, record) ? parseVersions(text) : null
  const merged = (versions?.length ?? 0) > 1 ? mergedRow(form, kind, name, versions, stable_ids) : null
  return merged ?? rowIn(form, kind, name, record, stable_ids)
}

function rowIn(
  form: RecordForm,
  kind: string,
  name: string,
  record: RecordBody,
  stable_ids: boolean,
): RecordRow | { reason: string } {
  if (form === 'bare') {
    const row = bareRow(kind, record, stable_ids)
    if (row === null) return { reason: `the file does not contain an object ${EXPECTED[form]}` }
    const id = typeof record['id'] === 'string' ? record['id'] : row.id
    return recordName(id) === name ? row : { reason: `its id is ${id}, which does not match the file name` }
  }
  const body = isWrapped(record) ? record['body'] : form === 'plain' ? record : null
  if (!isObject(body) || typeof record['id'] !== 'string') {
    return { reason: `the file does not contain an object ${EXPECTED[form]}` }
  }
  if (record['kind'] !== kind) return { reason: `its kind is ${JSON.stringify(record['kind'])}` }
  if (recordName(record['id']) !== name) {
    return { reason: `its id is ${record['id']}, which does not match the file name` }
  }
  return form === 'plain' && stable_ids ? rowWithUlid(record['id'], body) : { id: record['id'], body }
}

/** Returns the row, under its ULID if the id is foreign. */
function rowWithUlid(id: string, body: RecordBody): RecordRow {
  const renamed = body['id'] === id ? withUlid(body) : body
  return typeof renamed['id'] === 'string' && renamed !== body
    ? { id: renamed['id'], body: renamed }
    : { id, body }
}

const EXPECTED: Record<RecordForm, string> = {
  wrapped: 'with kind, id and body',
  plain: 'with its kind and id',
  bare: 'with its id',
}

/** Returns the record in a value of bare form; null if it has no id. */
export function bareRow(kind: string, value: RecordBody, stable_ids = false): RecordRow | null {
  const id = value['id']
  if (typeof id !== 'string') return null
  const body = (isWrapped(value) && value['kind'] === kind ? value['body'] : value) as RecordBody
  return stable_ids ? rowWithUlid(id, body) : { id, body }
}

/** Merges all versions of a record. Returns null if a version is not one of this record. */
function mergedRow(
  form: RecordForm,
  kind: string,
  name: string,
  versions: readonly RecordBody[] | null,
  stable_ids: boolean,
): (RecordRow & { merged: true }) | null {
  const rows = (versions ?? []).map((version) => rowIn(form, kind, name, version, stable_ids))
  const whole = rows.flatMap((row) => ('id' in row ? [row] : []))
  const [first] = whole
  if (first === undefined || whole.length < rows.length) return null
  return {
    id: first.id,
    body: whole.map(({ body }) => body).reduce((some, other) => mergeRecords(kind, some, other)),
    merged: true,
  }
}

function isWrapped(value: RecordBody): boolean {
  return Object.keys(value).sort().join() === 'body,id,kind' && isObject(value['body'])
}

/** File systems allow names of up to 255 bytes. */
const NAME_LENGTH_MAX = 120
const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/
/** Names of devices on Windows, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i
/** The name of the index file, which is not a record. */
const INDEX = /^index$/i
const isReserved = (name: string) => DEVICE.test(name) || INDEX.test(name)

/** Returns the file name for an id. Other bytes are escaped as %XX; a long name is truncated and made unique by a hash. */
export function recordName(id: string): string {
  if (PLAIN.test(id) && !id.endsWith('.') && !isReserved(id) && id.length <= NAME_LENGTH_MAX) return id
  let name = ''
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte)
    const plain = /[A-Za-z0-9_-]/.test(character)
    name += plain ? character : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
  }
  if (isReserved(name)) name = `%${id.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`
  if (name === '') return '%'
  if (name.length <= NAME_LENGTH_MAX) return name
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 32)
  return `${name.slice(0, NAME_LENGTH_MAX - 33)}~${hash}`
}
