/** Opens the SQLite file through libsql. All that PostgreSQL would do differently is in this file and in `migrations.ts`. */
import fs from 'node:fs'
import { Kysely, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely'
import Database from 'libsql'
import { migrate } from './migrations.ts'
import type { ActivityDb, ActivityTables } from './schema.ts'
import { damageFound } from './sqlite-errors.ts'
import { storableText } from './storable-text.ts'

export const MEMORY = ':memory:'

const BUSY_MS = 5_000
/** Size of SQLite's page cache. */
const CACHE_KIBIBYTES = 16 * 1024
/** Size to which the -wal file is cut after a checkpoint. */
const WAL_BYTES_MAX = 16 * 1024 * 1024
const STATEMENTS_MAX = 200
/**
 * Size up to which the whole file is checked at the start. A file of 2 GiB would take up to a minute; damage of a larger
 * file is found when its pages are read.
 */
const CHECKED_BYTES_MAX = 128 * 1024 * 1024

export interface ActivityDatabase {
  db: ActivityDb
  /** Size without free pages, in bytes. */
  bytes(): number
  /** Returns free pages to the file system, at most `pages`. */
  shrink(pages: number): void
  /** Writes the -wal file into the database first. May be called twice. */
  close(): void
}

/**
 * Opens or creates the file with mode 0600 and applies missing migrations.
 * @throws `config_invalid` for a newer schema, an error with `isDamaged` for a damaged file.
 */
export function openDatabase(file: string): ActivityDatabase {
  if (file !== MEMORY) {
    // SQLite gives -wal and -shm the mode of the database.
    fs.closeSync(fs.openSync(file, 'a', 0o600))
    fs.chmodSync(file, 0o600)
  }
  const database = new Database(file, { timeout: BUSY_MS })
  try {
    prepareDatabase(database, file)
  } catch (error) {
    database.close()
    throw error
  }
  const db = new Kysely<ActivityTables>({
    dialect: new SqliteDialect({ database: cachedStatements(database) }),
  })
  return {
    db,
    bytes() {
      return (
        (numberOf(database, 'page_count') - numberOf(database, 'freelist_count')) *
        numberOf(database, 'page_size')
      )
    },
    shrink(pages) {
      if (numberOf(database, 'freelist_count') > 0) database.exec(`PRAGMA incremental_vacuum(${pages})`)
    },
    close() {
      if (!database.open) return
      try {
        // libsql keeps the file open until its statements are collected, so SQLite does not do it at the close.
        database.pragma('wal_checkpoint(TRUNCATE)')
      } finally {
        database.close()
      }
    },
  }
}

function prepareDatabase(database: Database.Database, file: string): void {
  // Before the first table, otherwise it has no effect.
  database.pragma('auto_vacuum = INCREMENTAL')
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  database.pragma(`cache_size = ${-CACHE_KIBIBYTES}`)
  database.pragma(`journal_size_limit = ${WAL_BYTES_MAX}`)
  if (numberOf(database, 'page_count') * numberOf(database, 'page_size') <= CHECKED_BYTES_MAX) check(database)
  migrate(database, file)
}

function check(database: Database.Database): void {
  const [found] = database.pragma('quick_check(1)') as { quick_check: string }[]
  if (found?.quick_check !== 'ok') throw damageFound(found?.quick_check ?? 'no result')
}

function numberOf(database: Database.Database, pragma: string): number {
  const [row] = database.pragma(pragma) as Record<string, number>[]
  return row?.[pragma] ?? 0
}

/** Keeps the most recently used statements, because libsql needs longer to prepare one than to run it. */
function cachedStatements(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    close: () => undefined,
    prepare(sql) {
      // A transaction that reads first and then writes would fail if another process wrote between the two.
      if (sql === 'begin') return plainStatement(() => database.exec('BEGIN IMMEDIATE'))
      // SQLite has already ended a transaction that failed for lack of space.
      if (sql === 'rollback')
        return plainStatement(() => (database.inTransaction ? database.exec('ROLLBACK') : undefined))
      const statement = statements.get(sql) ?? checkedStatement(database.prepare(sql))
      statements.delete(sql)
      statements.set(sql, statement)
      const [oldest] = statements.keys()
      if (statements.size > STATEMENTS_MAX && oldest !== undefined) statements.delete(oldest)
      return statement
    },
  }
}

function plainStatement(run: () => unknown): SqliteStatement {
  const ran = () => {
    run()
    return { changes: 0, lastInsertRowid: 0 }
  }
  return { reader: false, run: ran, all: () => [], iterate: () => [][Symbol.iterator]() }
}

function checkedStatement(statement: Database.Statement): SqliteStatement {
  return {
    reader: statement.reader,
    all: (parameters) => statement.all(bound(parameters)),
    run: (parameters) => statement.run(bound(parameters)),
    iterate: (parameters) => statement.iterate(bound(parameters)),
  }
}

/** libsql ends the process if a parameter is of another type. */
function bound(parameters: readonly unknown[]): unknown[] {
  return parameters.map((value) => {
    if (typeof value === 'string') return storableText(value)
    if (value === null || (typeof value === 'number' && !Number.isNaN(value))) return value
    throw new TypeError(`a parameter of a statement must be text, a number or null, not ${typeof value}`)
  })
}
