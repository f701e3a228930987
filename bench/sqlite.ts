/** Runs SQLite in a Python process, because Node 20 does not have it. */
import { createInterface } from 'node:readline'
import path from 'node:path'
import { ROOT, startProgram, type Process } from './processes.ts'
import { programOf } from './debian-programs.ts'

export interface SqliteWork {
  directory: string
  appends: number
  /** Number of inserts in one transaction. */
  batch: number
  line_bytes: number
}

export interface SqliteRun {
  per_s: number
  version: string
  /** Settings reported by the database: `wal`, and 2 for FULL. */
  journal_mode: string
  synchronous: number
}

export interface Sqlite extends Process {
  run(work: SqliteWork): Promise<SqliteRun>
}

/** Returns null if Python is missing. */
export async function startSqlite(): Promise<Sqlite | null> {
  const python = programOf('python3', 'python3')
  if (python === null) return null
  const program = path.join(ROOT, 'bench/sqlite.py')
  const { child, pid, stop } = await startProgram(python, [program], { piped: true })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('a process without streams')
  const answers = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return {
    pid,
    stop,
    async run(work) {
      stdin.write(`${JSON.stringify(work)}\n`)
      const answer = await answers.next()
      if (answer.done === true) throw new Error('sqlite.py ended')
      const result = JSON.parse(answer.value) as SqliteRun
      if (result.journal_mode !== 'wal' || result.synchronous !== 2) {
        throw new Error(`SQLite does not sync as it should: ${answer.value}`)
      }
      return result
    },
  }
}
