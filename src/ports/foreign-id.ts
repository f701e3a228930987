/**
 * Ids that other programs gave their records: `hook-1776798321677`. Such a record is known by a ULID that is made from
 * its own time and its id, so it is the same in every process and on every machine, and no file has to be rewritten for it.
 */
import { createHash } from 'node:crypto'
import { Ulid } from '../contracts/ids.ts'
import type { RecordBody } from './record-store.ts'

/** The field of a record that holds the id it was written with. */
export const FOREIGN_ID = 'foreign_id'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_DIGITS = 10
const HASH_DIGITS = 16
/** What the ten digits of a ULID's time can hold. */
const TIME_MS_MAX = 2 ** 48 - 1

/** The ULID of a foreign id; null if the record does not have a time. Records sort by their time. */
export function ulidOfForeign(id: string, body: RecordBody): string | null {
  const time_ms = timeOf(body)
  if (time_ms === null) return null
  let time = ''
  for (let rest = time_ms; time.length < TIME_DIGITS; rest = Math.floor(rest / 32)) {
    time = `${ALPHABET[rest % 32]}${time}`
  }
  const hash = createHash('sha256').update(id).digest()
  const digits = [...hash.subarray(0, HASH_DIGITS)].map((byte) => ALPHABET[byte % 32])
  return `${time}${digits.join('')}`
}

/** The record under its ULID, with its former id in `foreign_id`; the same record if it has a ULID, or no time. */
export function underUlid(body: RecordBody): RecordBody {
  const { id } = body
  if (typeof id !== 'string' || id === '' || Ulid.safeParse(id).success) return body
  const ulid = ulidOfForeign(id, body)
  return ulid === null ? body : { ...body, id: ulid, [FOREIGN_ID]: id }
}

function timeOf({ timestamp, created_at }: RecordBody): number | null {
  for (const said of [timestamp, created_at]) {
    const time_ms = typeof said === 'string' ? Date.parse(said) : Number.NaN
    if (time_ms >= 0 && time_ms <= TIME_MS_MAX) return time_ms
  }
  return null
}
