/**
 * Lists by keyset, newest first: each page is one range of an index, however many rows a filter excludes.
 *
 * An index helps only if all its columns before the time are compared for equality. A column of few values that the input
 * does not filter is therefore expanded: one range per value, of which the newest rows are taken.
 */
import { sql, type ExpressionBuilder, type Kysely, type SelectQueryBuilder } from 'kysely'
import type { Listed, Page } from '../../../ports/activity-store.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { ActivityDb } from './schema.ts'

type Given = Readonly<Record<string, string | undefined>>

export interface ListPlan {
  table: string
  /** View that has the rows of the table with more columns. Default: the table. */
  view?: string
  /** Column of the order. Default: `started_at`. */
  time?: string
  /** Values of columns of an index. */
  indexed?: Given
  /** All values of each column that follows in the index, and is not among `indexed`. */
  expanded?: Readonly<Record<string, readonly string[]>>
  /** Values that are compared row by row. Their indexes are not used, because those of `indexed` select less. */
  compared?: Given
  /** Whether `ended_at` must be absent or present. */
  open?: boolean | undefined
  /** Included. */
  since?: string | undefined
  /** Not included. */
  until?: string | undefined
}

type Row = Record<string, string | number | null>
/** Tables and columns are only known at run time. */
type AnyTables = Record<string, Row>
type Keys = SelectQueryBuilder<AnyTables, string, { number: number; time: string }>

/** Returns one page of rows. The caller knows which rows the plan selects. */
export async function listPage<Stored extends { number: number }>(
  db: ActivityDb,
  plan: ListPlan,
  page: Page,
): Promise<Listed<Stored>> {
  const time = plan.time ?? 'started_at'
  const rows = await newestRows<Stored>(db, plan, page.limit + 1, page.cursor)
  const items = rows.slice(0, page.limit)
  const last = items.at(-1)
  const more = rows.length > items.length && last !== undefined
  return {
    items,
    next_cursor: more
      ? encodeCursor({ time: String((last as unknown as Row)[time]), number: last.number })
      : null,
  }
}

/** Returns at most `limit` rows, the newest first. */
export async function newestRows<Stored>(
  db: ActivityDb,
  plan: ListPlan,
  limit: number,
  cursor?: string,
): Promise<Stored[]> {
  const any = db as unknown as Kysely<AnyTables>
  const time = plan.time ?? 'started_at'
  const rows = await any
    .selectFrom(plan.view ?? plan.table)
    .selectAll()
    .where('number', 'in', keysOf(any, plan, limit, cursor).clearSelect().select('number'))
    .orderBy(time, 'desc')
    .orderBy('number', 'desc')
    .execute()
  return rows as Stored[]
}

function keysOf(any: Kysely<AnyTables>, plan: ListPlan, limit: number, cursor?: string): Keys {
  const ranges = combinations(plan).map((values) => rangeOf(any, plan, values, limit, cursor))
  const [first, ...others] = ranges
  if (first === undefined) throw new Error(`the list of ${plan.table} has no range`)
  if (others.length === 0) return first
  // SQLite has no limit in a part of a union, so each part is a query of its own.
  const part = (range: Keys, at: number) => any.selectFrom(range.as(`range_${at}`)).selectAll() as Keys
  const union = others.reduce((all, range, at) => all.unionAll(part(range, at + 1)), part(first, 0))
  return any
    .selectFrom(union.as('ranges'))
    .select(['number', 'time'])
    .orderBy('time', 'desc')
    .orderBy('number', 'desc')
    .limit(limit) as Keys
}

/** One range of an index: all its columns before the time have one value. */
function rangeOf(
  any: Kysely<AnyTables>,
  plan: ListPlan,
  values: Readonly<Record<string, string>>,
  limit: number,
  cursor?: string,
): Keys {
  const time = plan.time ?? 'started_at'
  let keys = any.selectFrom(plan.table).select(['number', `${time} as time`]) as Keys
  for (const [name, value] of Object.entries(values)) keys = keys.where(name, '=', value)
  for (const [name, value] of Object.entries(plan.compared ?? {}))
    if (value !== undefined) keys = keys.where(sql<string>`${sql.ref(name)} || ''`, '=', value)
  if (plan.open !== undefined) keys = keys.where('ended_at', plan.open ? 'is' : 'is not', null)
  if (plan.since !== undefined) keys = keys.where(time, '>=', plan.since)
  if (plan.until !== undefined) keys = keys.where(time, '<', plan.until)
  if (cursor !== undefined) {
    const after = decodeCursor(cursor)
    keys = keys.where((eb: ExpressionBuilder<AnyTables, string>) =>
      eb(eb.refTuple(time, 'number'), '<', eb.tuple(after.time, after.number)),
    )
  }
  return keys.orderBy(time, 'desc').orderBy('number', 'desc').limit(limit)
}

/** Returns the values of the indexed columns, once for each combination of the values of expanded columns. */
function combinations({ indexed = {}, expanded = {} }: ListPlan): Record<string, string>[] {
  const given = Object.entries(indexed).filter((entry): entry is [string, string] => entry[1] !== undefined)
  let all: Record<string, string>[] = [Object.fromEntries(given)]
  for (const [name, values] of Object.entries(expanded)) {
    if (indexed[name] !== undefined) continue
    all = all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })))
  }
  return all
}
