/** Which records are meant, in which order, and how many of them at a time. */
import { folded, sameText } from '../../contracts/same-text.ts'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { jsonIn } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nearest } from '../../contracts/names.ts'
import {
  FILTER_WORDS,
  KeptRecord,
  type FilterValue,
  type RecordPage,
  type RecordSort,
} from '../../contracts/records.ts'
import * as z from 'zod'
import { invalid } from './change.ts'
import type { KnownKind } from './kinds.ts'
import { hasText } from '../has-text.ts'
import { withinBytes } from '../within-bytes.ts'

export type Filter = Record<string, FilterValue>

export interface Paging {
  sort: RecordSort
  limit: number
  after?: string | undefined
}

const Words = z.object(FILTER_WORDS)
const COMMON = Object.keys(KeptRecord.shape)

/** Whether a record is meant. Throws `params_invalid` for a field that no such record has. */
export function matcher(known: KnownKind, filter: Filter): (record: KeptRecord) => boolean {
  const { since, until, text, ...fields } = filter
  const words = Words.safeParse({ since, until, text })
  if (!words.success) throw invalid(known, `filter: ${describeParams(Words, filter, words.error)}`)
  const own = Object.keys(known.own.shape)
  for (const field of Object.keys(fields)) requireField(known, field, [...COMMON, ...own])
  requireStatuses(known, fields['status'])

  const from = words.data.since === undefined ? -Infinity : Date.parse(words.data.since)
  const to = words.data.until === undefined ? Infinity : Date.parse(words.data.until)
  const part = words.data.text === undefined ? undefined : folded(words.data.text)
  return (record) => {
    const at = Date.parse(record.created_at)
    if (at < from || at >= to) return false
    if (part !== undefined && !own.some((field) => hasText(record[field], part))) return false
    return Object.entries(fields).every(([field, wanted]) => isOneOf(record[field], wanted))
  }
}

function requireField(known: KnownKind, field: string, fields: readonly string[]): void {
  if (fields.includes(field)) return
  const allowed = [...Object.keys(FILTER_WORDS), ...fields]
  const meant = nearest(field, allowed)
  const guess = meant === null ? '' : ` (did you mean ${meant}?)`
  throw invalid(known, `filter: unknown field ${field}${guess}; allowed: ${allowed.join(', ')}`)
}

/** A status that no such record can have finds nothing, and nothing would say that it is misspelt. */
function requireStatuses(known: KnownKind, wanted: FilterValue | undefined): void {
  const { statuses } = known
  if (wanted === undefined || statuses.length === 0) return
  for (const status of Array.isArray(wanted) ? wanted : [wanted]) {
    if (statuses.includes(String(status))) continue
    const found = JSON.stringify(status)
    throw invalid(known, `filter: status: expected one of ${statuses.join(', ')}, found ${found}`)
  }
}

/**
 * A field that is a list has each of its entries for a value. Compared as text, because a query of a URL
 * knows nothing else; null finds what has no value at all.
 */
function isOneOf(value: Json | undefined, wanted: FilterValue): boolean {
  const values = Array.isArray(value) ? value : [value ?? null]
  const all = Array.isArray(wanted) ? wanted : [wanted]
  return values.some((one) => all.some((other) => (one === null ? other === null : same(one, other))))
}

function same(value: Json, wanted: string | number | boolean | null): boolean {
  return wanted !== null && typeof value !== 'object' && sameText(String(value), String(wanted))
}

/** One page of records that were found. Throws `params_invalid` for an `after` that no page gave out. */
export function page(found: readonly KeptRecord[], { sort, limit, after }: Paging): RecordPage {
  const descending = sort.startsWith('-')
  const field = descending ? sort.slice(1) : sort
  const placeOf = (record: KeptRecord): Place => [(record[field] ?? '') as string | number, record.id]
  const compare = (a: Place, b: Place) => (descending ? -1 : 1) * comparePlaces(a, b)
  const start = after === undefined ? null : placeIn(after, sort)
  const left = found
    .filter((record) => start === null || compare(placeOf(record), start) > 0)
    .sort((a, b) => compare(placeOf(a), placeOf(b)))

  const records = withinBytes(left.slice(0, limit), LIMITS.records_page_bytes_max)
  const last = records.at(-1)
  const more = last !== undefined && records.length < left.length
  return { records, next: more ? cursor(sort, placeOf(last)) : null, total: found.length }
}

/** Where a record stands in its order: what is sorted by, and its id where that is the same. */
type Place = [value: string | number, id: string]

function comparePlaces([a, a_id]: Place, [b, b_id]: Place): number {
  return compareValues(a, b) || compareValues(a_id, b_id)
}

function compareValues(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const Cursor = z.tuple([z.string(), z.union([z.string(), z.number()]), z.string()])

function cursor(sort: RecordSort, place: Place): string {
  return Buffer.from(JSON.stringify([sort, ...place])).toString('base64url')
}

function placeIn(after: string, sort: RecordSort): Place {
  const read = Cursor.safeParse(jsonIn(Buffer.from(after, 'base64url').toString()))
  if (read.success && read.data[0] === sort) return [read.data[1], read.data[2]]
  throw new TurnbellError('params_invalid', {
    detail: read.success
      ? `after: the page before was sorted by ${read.data[0]}, this one is by ${sort}`
      : 'after: expected the `next` of a page, found something else',
    hint: 'Take `next` from the page before, with the same sort; or ask without `after` from the beginning.',
  })
}
