/**
 * One record as a file: its text and its name.
 *
 * Two forms. Wrapped is `{kind, id, body}` and takes any body. Plain is the body itself, where that says its
 * own kind and id: what people read, search with jq and see in diffs. A plain store writes the wrapped form
 * only where the plain one could not be read back.
 */
import { createHash } from 'node:crypto'
import { handwrittenJson } from '../../contracts/json.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'

export type RecordForm = 'wrapped' | 'plain'

/** `reason` says to a person why the text is no record, or none that belongs here. */
export type ReadRecord = RecordRow | { reason: string }

export function recordText(form: RecordForm, kind: string, id: string, body: RecordBody): string {
  const says = body['kind'] === kind && body['id'] === id && !isWrapped(body)
  return `${JSON.stringify(form === 'plain' && says ? body : { kind, id, body }, null, 2)}\n`
}

/** `name` is the file's, without its ending. */
export function readRecord(form: RecordForm, kind: string, name: string, text: string): ReadRecord {
  let value: unknown
  try {
    value = handwrittenJson(text)
  } catch (error) {
    if (CONFLICT.test(text)) return { reason: 'it holds an unresolved merge conflict' }
    return { reason: `it is no JSON: ${(error as Error).message}` }
  }
  const record = isObject(value) ? value : {}
  const body = isWrapped(record) ? record['body'] : form === 'plain' ? record : null
  if (!isObject(body) || typeof record['id'] !== 'string') {
    const wanted = form === 'plain' ? 'with its kind and id' : 'with kind, id and body'
    return { reason: `it does not hold an object ${wanted}` }
  }
  if (record['kind'] !== kind) return { reason: `it says that its kind is ${JSON.stringify(record['kind'])}` }
  if (recordName(record['id']) !== name) return { reason: `it says that its id is ${record['id']}` }
  return { id: record['id'], body }
}

/** As git leaves it where two sides changed the same lines. */
const CONFLICT = /^(<{7}|>{7}) /m

function isObject(value: unknown): value is RecordBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWrapped(value: RecordBody): boolean {
  return Object.keys(value).sort().join() === 'body,id,kind' && isObject(value['body'])
}

/** File systems end at 255 bytes a name. */
const NAME_LENGTH_MAX = 120
const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/
/** Names that are devices on Windows, whatever follows their first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** Bytes outside the plain alphabet as %XX; what would be too long is cut and told apart by a hash. */
export function recordName(id: string): string {
  if (PLAIN.test(id) && !id.endsWith('.') && !DEVICE.test(id) && id.length <= NAME_LENGTH_MAX) return id
  let name = ''
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte)
    const plain = /[A-Za-z0-9_-]/.test(character)
    name += plain ? character : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
  }
  if (DEVICE.test(name)) name = `%${id.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`
  if (name === '') return '%'
  if (name.length <= NAME_LENGTH_MAX) return name
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 32)
  return `${name.slice(0, NAME_LENGTH_MAX - 33)}~${hash}`
}
