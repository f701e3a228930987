/** Goal 5: the journal alone, without hub, sockets or other processes. */
import { figure, interleave, leftOut, short, type Figure, type Goal } from '../report/figures.ts'
import type { Appended, JournalHandlers } from '../programs/journal-process.ts'
import { temporaryDirectory } from '../processes.ts'
import { startRemote } from '../remote.ts'
import { startSqlite, type SqliteRun } from '../sqlite.ts'

const ROUNDS = 7
const SENDERS = 100
const APPENDS = 40_000
const SQLITE_GOAL: Goal = '5: >= 2'

interface Round {
  store: Appended
  raw: Appended
  sqlite: SqliteRun | null
}

export async function journal(): Promise<Figure[]> {
  const { call, stop } = await startRemote<JournalHandlers>('journal-process')
  const sqlite = await startSqlite()
  const directory = temporaryDirectory()
  const work = { directory, senders: SENDERS, appends: APPENDS }
  try {
    // Two runs: the first compiles the code of the second.
    for (const _ of [1, 2]) await call.raw({ ...work, bytes: (await call.store(work)).line_bytes })
    const { line_bytes: bytes } = await call.store(work)
    const inserts = { directory, appends: APPENDS, batch: SENDERS, line_bytes: bytes }
    const rounds = await interleave<Round>(ROUNDS, {
      store: () => call.store(work),
      raw: () => call.raw({ ...work, bytes }),
      sqlite: async () => (await sqlite?.run(inserts)) ?? null,
    })
    return [againstRaw(rounds, bytes), againstSqlite(rounds)]
  } finally {
    await Promise.all([stop(), sqlite?.stop()])
  }
}

const appended = ({ batch_mean }: Appended) =>
  `${APPENDS} appends of the file store to a new journal, in process, by ${SENDERS} senders each waiting for its last one to be durable; signals made beforehand; ${short(batch_mean)} a sync`

function againstRaw(rounds: readonly Round[], bytes: number): Figure {
  const pairs = rounds.map((round) => ({ ...round, value: round.store.per_s, limit: round.raw.per_s }))
  return figure('journal', 'appends/s', '5: >= 0.25', pairs, ({ store, raw }) => [
    appended(store),
    `limit: group commit of prepared lines of ${bytes} bytes, one write and one fdatasync for what queued up, ${short(raw.batch_mean)} a sync`,
  ])
}

function againstSqlite(rounds: readonly Round[]): Figure {
  const pairs = rounds.flatMap(({ store, sqlite }) =>
    sqlite === null ? [] : [{ value: store.per_s, limit: sqlite.per_s, store, sqlite }],
  )
  if (pairs.length === 0) {
    return leftOut('journal-sqlite', 'appends/s', SQLITE_GOAL, 'python3, which has SQLite, is missing')
  }
  return figure('journal-sqlite', 'appends/s', SQLITE_GOAL, pairs, ({ store, sqlite }) => [
    appended(store),
    `limit: SQLite ${sqlite.version} in python3, executemany with ${SENDERS} rows a transaction, as many bytes; it finds a signal by its id and a queue in order, as the store does; PRAGMAs answer journal_mode wal, synchronous FULL; timed inside`,
  ])
}
