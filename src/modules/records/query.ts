/** Filters, sorts and pages records. */
import { foldCase, sameText } from '../../contracts/text/same-text.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { parseJsonOrNull } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { nearest } from '../../contracts/text/names.ts'
import {
  FILTER_WORDS,
  KeptRecord,
  type FilterValue,
  type RecordPage,
  type RecordSort,
} from '../../contracts/memory/records.ts'
import * as z from 'zod'
import { invalid } from './change.ts'
import type { KnownKind } from './kinds.ts'
import { containsText } from '../lib/contains-text.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'

export type Filter = Record<string, FilterValue>

export interface Paging {
  sort: RecordSort
  limit: number
  after?: string | undefined
}

const Words = z.object(FILTER_WORDS)
const COMMON = Object.keys(KeptRecord.shape)

/** Returns a predicate for a filter. Throws `params_invalid` for a field that the kind does not have. */
export function matcher(known: KnownKind, filter: Filter): (record: KeptRecord) => boolean {
  const { since, until, text, ...fields } = filter
  const words = Words.safeParse({ since, until, text })
  if (!words.success) throw invalid(known, `filter: ${describeParams(Words, filter, words.error)}`)
  const own = Object.keys(known.own.shape)
  for (const field of Object.keys(fields)) assertFieldKnown(known, field, [...COMMON, ...own])
  assertStatusesKnown(known, fields['status'])

  const from = words.data.since === undefined ? -Infinity : Date.parse(words.data.since)
  const to = words.data.until === undefined ? Infinity : Date.parse(words.data.until)
  const part = words.data.text === undefined ? undefined : foldCase(words.data.text)
  return (record) => {
    const at = Date.parse(record.created_at)
    if (at < from || at >= to) return false
    if (part !== undefined && !own.some((field) => containsText(record[field], part))) return false
    return Object.entries(fields).every(([field, wanted]) => isOneOf(record[field], wanted))
  }
}

function assertFieldKnown(known: KnownKind, field: string, fields: readonly string[]): void {
  if (fields.includes(field)) return
  const allowed = [...Object.keys(FILTER_WORDS), ...fields]
  const meant = nearest(field, allowed)
  const guess = meant === null ? '' : ` (did you mean ${meant}?)`
  throw invalid(known, `filter: unknown field ${field}${guess}; allowed: ${allowed.join(', ')}`)
}

/** Rejects an unknown status; otherwise a misspelled one would silently match nothing. */
function assertStatusesKnown(known: KnownKind, wanted: FilterValue | undefined): void {
  const { statuses } = known
  if (wanted === undefined || statuses.length === 0) return
  for (const status of Array.isArray(wanted) ? wanted : [wanted]) {
    if (statuses.includes(String(status))) continue
    const found = JSON.stringify(status)
    throw invalid(known, `filter: status: expected one of ${statuses.join(', ')}, found ${found}`)
  }
}

/**
 * Compares values as text, because the query of a URL contains only text. Each entry of a list counts as a value; null
 * matches a missing value.
 */
function isOneOf(value: Json | undefined, wanted: FilterValue): boolean {
  const values = Array.isArray(value) ? value : [value ?? null]
  const all = Array.isArray(wanted) ? wanted : [wanted]
  return values.some((found) => all.some((other) => (found === null ? other === null : same(found, other))))
}

function same(value: Json, wanted: string | number | boolean | null): boolean {
  return wanted !== null && typeof value !== 'object' && sameText(String(value), String(wanted))
}

/** Returns one page of the found records. Throws `params_invalid` for an invalid `after`. */
export function page(found: readonly KeptRecord[], { sort, limit, after }: Paging): RecordPage {
  const descending = sort.startsWith('-')
  const field = descending ? sort.slice(1) : sort
  const keyOf = (record: KeptRecord): SortKey => [(record[field] ?? '') as string | number, record.id]
  const compare = (a: SortKey, b: SortKey) => (descending ? -1 : 1) * compareKeys(a, b)
  const start = after === undefined ? null : decodeCursor(after, sort)
  const left = found
    .filter((record) => start === null || compare(keyOf(record), start) > 0)
    .sort((a, b) => compare(keyOf(a), keyOf(b)))

  const records = truncateToBytes(left.slice(0, limit), LIMITS.records_page_bytes_max)
  const last = records.at(-1)
  const more = last !== undefined && records.length < left.length
  return { records, next: more ? encodeCursor(sort, keyOf(last)) : null, total: found.length }
}

/** Sort key of a record: the sorted value, then the id. */
type SortKey = [value: string | number, id: string]

function compareKeys([a, a_id]: SortKey, [b, b_id]: SortKey): number {
  return compareValues(a, b) || compareValues(a_id, b_id)
}

function compareValues(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const Cursor = z.tuple([z.string(), z.union([z.string(), z.number()]), z.string()])

function encodeCursor(sort: RecordSort, key: SortKey): string {
  return Buffer.from(JSON.stringify([sort, ...key])).toString('base64url')
}

function decodeCursor(after: string, sort: RecordSort): SortKey {
  const read = Cursor.safeParse(parseJsonOrNull(Buffer.from(after, 'base64url').toString()))
  if (read.success && read.data[0] === sort) return [read.data[1], read.data[2]]
  throw new TurnbellError('params_invalid', {
    detail: read.success
      ? `after: the previous page was sorted by ${read.data[0]}, this query by ${sort}`
      : 'after: expected the `next` of a page',
    hint: 'Pass `next` of the previous page with the same sort, or leave out `after` to start again.',
  })
}
