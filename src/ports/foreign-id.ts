/**
 * Foreign ids: ids that other programs gave their records, such as `hook-1776798321677`. The ULID of such a record is derived
 * from its time and id, so that it is the same in every process and on every machine without rewriting a file.
 */
import { createHash } from 'node:crypto'
import { Ulid } from '../contracts/ids.ts'
import type { RecordBody } from './record-store.ts'

/** Field of a record that contains its original id. */
export const FOREIGN_ID = 'foreign_id'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_DIGITS = 10
const HASH_DIGITS = 16
/** Maximum time in a ULID. */
const TIME_MS_MAX = 2 ** 48 - 1

/** Returns the ULID for a foreign id, which sorts by the record's time; null if the record has no time. */
export function ulidForForeignId(id: string, body: RecordBody): string | null {
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

/** Returns the record with its ULID, and its original id in `foreign_id`; unchanged if it has a ULID, or no time. */
export function withUlid(body: RecordBody): RecordBody {
  const { id } = body
  if (typeof id !== 'string' || id === '' || Ulid.safeParse(id).success) return body
  const ulid = ulidForForeignId(id, body)
  return ulid === null ? body : { ...body, id: ulid, [FOREIGN_ID]: id }
}

function timeOf({ timestamp, created_at }: RecordBody): number | null {
  for (const time of [timestamp, created_at]) {
    const time_ms = typeof time === 'string' ? Date.parse(time) : Number.NaN
    if (time_ms >= 0 && time_ms <= TIME_MS_MAX) return time_ms
  }
  return null
}
