/** Statements that insert many rows or update the stored ones, each compiled once per number of rows. */
import { CompiledQuery, sql, type RawBuilder } from 'kysely'
import type { ActivityDb, ActivityTables } from './schema.ts'

type WrittenTable = Exclude<keyof ActivityTables, 'schema_version' | 'v_project_stats'>
type Value = string | number | null
/** How a column of a stored row changes. */
export type Change =
  /** The new value replaces the stored one. */
  | 'replace'
  /** A new value replaces the stored one, unless it is null. */
  | 'fill'
  /** The stored value is kept, unless it is null. */
  | 'keep'
  /** The smaller value of both. */
  | 'least'
  /** The stored status is kept, unless it is `running`. */
  | 'end'
  | 'add'

export interface UpsertPlan {
  table: WrittenTable
  key: readonly string[]
  /** Columns that are only written if the row is inserted. */
  inserted?: readonly string[]
  /** All other columns that are written. */
  columns: Readonly<Record<string, Change>>
}

export type Upsert = (db: ActivityDb, rows: readonly object[]) => Promise<void>

/** Numbers of rows in one statement, largest first. */
const SIZES = [64, 8, 1]

/** Returns a function that writes rows. The keys of the rows must differ. A missing column is null. */
export function createUpsert(plan: UpsertPlan): Upsert {
  const compiled = new Map<number, string>()
  const names = [...plan.key, ...(plan.inserted ?? []), ...Object.keys(plan.columns)]
  const statementOf = (db: ActivityDb, size: number) => {
    const known = compiled.get(size)
    if (known !== undefined) return known
    const text = compile(db, plan, names, size)
    compiled.set(size, text)
    return text
  }
  return async (db, rows) => {
    let start = 0
    for (const size of SIZES) {
      for (; rows.length - start >= size; start += size) {
        const values: Value[] = []
        for (let at = start; at < start + size; at++) addValues(values, rows[at] ?? {}, names)
        await db.executeQuery(CompiledQuery.raw(statementOf(db, size), values))
      }
    }
  }
}

function addValues(values: Value[], row: object, names: readonly string[]): void {
  const fields = row as Readonly<Record<string, Value | undefined>>
  for (const name of names) values.push(fields[name] ?? null)
}

function compile(db: ActivityDb, plan: UpsertPlan, names: readonly string[], size: number): string {
  const columns = sql.join(names.map((name) => sql.ref(name)))
  const row = sql`(${sql.join(names.map(() => sql.val(null)))})`
  const changes = Object.entries(plan.columns).map(
    ([name, change]) => sql`${sql.ref(name)} = ${changed(plan.table, name, change)}`,
  )
  return sql`
    insert into ${sql.table(plan.table)} (${columns}) values ${sql.join(Array.from({ length: size }, () => row))}
    on conflict (${sql.join(plan.key.map((name) => sql.ref(name)))}) do update set ${sql.join(changes)}
  `.compile(db).sql
}

function changed(table: string, name: string, change: Change): RawBuilder<unknown> {
  const stored = sql.ref(`${table}.${name}`)
  const given = sql.ref(`excluded.${name}`)
  switch (change) {
    case 'replace':
      return given
    case 'fill':
      return sql`coalesce(${given}, ${stored})`
    case 'keep':
      return sql`coalesce(${stored}, ${given})`
    case 'least':
      return sql`case when ${given} < ${stored} then ${given} else ${stored} end`
    case 'end':
      return sql`case when ${stored} = 'running' then ${given} else ${stored} end`
    case 'add':
      return sql`${stored} + ${given}`
  }
}
