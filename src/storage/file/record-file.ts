/**
 * One record as a file: its text and its name.
 *
 * Three forms. Wrapped is `{kind, id, body}` and takes any body. Plain is the body itself, where that says its
 * own kind and id: what people read, search with jq and see in diffs. Bare is the same for kinds that have a
 * place of their own, where a body need not say its kind. Both are written wrapped only where they could not be
 * read back.
 */
import { createHash } from 'node:crypto'
import { TurnbellError } from '../../contracts/errors.ts'
import { handwrittenJson, isDeeper, whyNoJson } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { joined, saysFieldsTwice, versionsIn } from './both-sides.ts'
import { isObject } from './is-object.ts'
import { hasMarks } from './merge-marks.ts'
import { underUlid } from '../../ports/foreign-id.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'

export type RecordForm = 'wrapped' | 'plain' | 'bare'

/**
 * `reason` says to a person why the text is no record, or none that belongs here. One that is `merged` was put
 * together from a text that is no JSON, and should be written anew. What `stays` is a conflict that only people
 * can resolve, who may be at it.
 */
export type ReadRecord = (RecordRow & { merged?: true }) | { reason: string; stays?: true }

/** Throws `record_too_large`. */
export function recordText(form: RecordForm, kind: string, id: string, body: RecordBody): string {
  const spread = JSON.stringify(readableValue(form, kind, id, body), null, 2)
  const text = `${spread.replace(PLAIN_LIST, (list) => list.replace(/\n */g, ' ').replace(/^\[ | \]$/g, (end) => end.trim()))}\n`
  // Whoever reads it would not take it for a record.
  if (Buffer.byteLength(text) <= LIMITS.record_file_bytes_max) return text
  throw new TurnbellError('record_too_large', {
    detail: `${kind} ${id} would take more than ${LIMITS.record_file_bytes_max} bytes`,
  })
}

/**
 * A list of plain values, which goes on one line: where two branches add to it, git then tells two whole fields
 * apart, and not two halves of one.
 */
const PLAIN_LIST = /\[\n(?: *(?:"(?:[^"\\]|\\.)*"|[\w.+-]+),?\n)+ *\]/g

/** What is written of a record: its body, or that with what it does not say itself. */
export function recordValue(form: RecordForm, kind: string, id: string, body: RecordBody): RecordBody {
  const says = body['id'] === id && (form === 'bare' || body['kind'] === kind) && !isWrapped(body)
  return form !== 'wrapped' && says ? body : { kind, id, body }
}

/** The same. Throws `record_too_large` where whoever reads it would not take it for a record. */
export function readableValue(form: RecordForm, kind: string, id: string, body: RecordBody): RecordBody {
  const value = recordValue(form, kind, id, body)
  if (!isDeeper(value, LIMITS.json_depth_max)) return value
  throw new TurnbellError('record_too_large', {
    detail: `${kind} ${id} would be nested more than ${LIMITS.json_depth_max} deep`,
    hint: 'Say it with fewer lists and mappings in each other, or write it to a file of the project and say where it is.',
  })
}

/** `name` is the file's, without its ending. `stable_ids`: a foreign id is read as its ULID. */
export function readRecord(
  form: RecordForm,
  kind: string,
  name: string,
  text: string,
  stable_ids = false,
): ReadRecord {
  // Nobody merges what lies in a home.
  const mayMerge = form !== 'wrapped'
  let value: unknown
  try {
    value = handwrittenJson(text)
  } catch (error) {
    const merged = mayMerge ? mergedRow(form, kind, name, versionsIn(text), stable_ids) : null
    if (merged !== null) return merged
    if (mayMerge && hasMarks(text)) return { reason: 'it holds an unresolved merge conflict', stays: true }
    return { reason: whyNoJson(error) }
  }
  const record = isObject(value) ? value : {}
  const versions = mayMerge && saysFieldsTwice(text, record) ? versionsIn(text) : null
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
    if (row === null) return { reason: `it does not hold an object ${WANTED[form]}` }
    const id = typeof record['id'] === 'string' ? record['id'] : row.id
    return recordName(id) === name ? row : { reason: `it says that its id is ${id}` }
  }
  const body = isWrapped(record) ? record['body'] : form === 'plain' ? record : null
  if (!isObject(body) || typeof record['id'] !== 'string') {
    return { reason: `it does not hold an object ${WANTED[form]}` }
  }
  if (record['kind'] !== kind) return { reason: `it says that its kind is ${JSON.stringify(record['kind'])}` }
  if (recordName(record['id']) !== name) return { reason: `it says that its id is ${record['id']}` }
  return form === 'plain' && stable_ids ? known(record['id'], body) : { id: record['id'], body }
}

/** Under a ULID if its id is foreign. */
function known(id: string, body: RecordBody): RecordRow {
  const renamed = body['id'] === id ? underUlid(body) : body
  return typeof renamed['id'] === 'string' && renamed !== body
    ? { id: renamed['id'], body: renamed }
    : { id, body }
}

const WANTED: Record<RecordForm, string> = {
  wrapped: 'with kind, id and body',
  plain: 'with its kind and id',
  bare: 'with its id',
}

/** The record that a value in bare form is; null if it does not have an id. */
export function bareRow(kind: string, value: RecordBody, stable_ids = false): RecordRow | null {
  const id = value['id']
  if (typeof id !== 'string') return null
  const body = (isWrapped(value) && value['kind'] === kind ? value['body'] : value) as RecordBody
  return stable_ids ? known(id, body) : { id, body }
}

/** Null where not every version is one of that record. */
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
    body: whole.map(({ body }) => body).reduce((some, other) => joined(kind, some, other)),
    merged: true,
  }
}

function isWrapped(value: RecordBody): boolean {
  return Object.keys(value).sort().join() === 'body,id,kind' && isObject(value['body'])
}

/** File systems end at 255 bytes a name. */
const NAME_LENGTH_MAX = 120
const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/
/** Names that are devices on Windows, whatever follows their first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i
/** What stands beside the records and is none. */
const INDEX = /^index$/i
const isTaken = (name: string) => DEVICE.test(name) || INDEX.test(name)

/** Bytes outside the plain alphabet as %XX; what would be too long is cut and told apart by a hash. */
export function recordName(id: string): string {
  if (PLAIN.test(id) && !id.endsWith('.') && !isTaken(id) && id.length <= NAME_LENGTH_MAX) return id
  let name = ''
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte)
    const plain = /[A-Za-z0-9_-]/.test(character)
    name += plain ? character : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
  }
  if (isTaken(name)) name = `%${id.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`
  if (name === '') return '%'
  if (name.length <= NAME_LENGTH_MAX) return name
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 32)
  return `${name.slice(0, NAME_LENGTH_MAX - 33)}~${hash}`
}
