/** The activity store in a SQLite file. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { ActivityStore } from '../../../ports/activity-store.ts'
import { silentLog, type Log } from '../../../ports/log.ts'
import { createSerialQueue } from '../../../ports/serial-queue.ts'
import { readCounts, readHourly, readToolsSummary } from './aggregates.ts'
import { moveDamagedAway } from './damaged-file.ts'
import { MEMORY, openDatabase, type ActivityDatabase } from './database.ts'
import { listActions, listProjects, listRequests, listSessions, listSubtasks, listTasks } from './lists.ts'
import { pruneStep } from './prune.ts'
import { removeActions, removeProject, removeSession, STEP_ACTIONS } from './remove.ts'
import type { ActivityDb } from './schema.ts'
import { isDamaged, toActivityError } from './sqlite-errors.ts'
import { findProject, readTree } from './tree.ts'
import { toSessionRow } from './views.ts'
import { writeRows } from './write.ts'

export interface ActivityStoreOptions {
  /** Path of the database in an existing directory, or `:memory:`. */
  file: string
  /** Called with the new name of a damaged file and SQLite's message, after a new database was created. */
  onDamaged?: ((damaged: string, reason: string) => void) | undefined
  log?: Log | undefined
}

/**
 * Opens or creates the database. A damaged file is renamed to `<file>.damaged-<time>`, at the start and in any later call,
 * and a new database takes its place.
 * @throws `config_invalid` if a newer turnbell wrote the file, `store_unavailable` if the disk does not allow it.
 */
export async function openActivityStore(options: ActivityStoreOptions): Promise<ActivityStore> {
  const keeper = await createKeeper(options)
  return createStore(keeper)
}

/** Runs one call after the other on the current database, and replaces a damaged one. */
interface Keeper {
  run<T>(work: (database: ActivityDatabase) => Promise<T> | T): Promise<T>
  close(): Promise<void>
}

async function createKeeper({ file, onDamaged, log = silentLog }: ActivityStoreOptions): Promise<Keeper> {
  const queue = createSerialQueue()
  let database: ActivityDatabase | null = null
  let closed = false
  const open = () => {
    if (closed) throw new TurnbellError('store_unavailable', { detail: `${file} is closed` })
    return (database ??= openDatabase(file))
  }

  function replace(error: unknown): void {
    try {
      database?.close()
    } catch {
      // Its last pages could not be written into the damaged file.
    }
    database = null
    const reason = error instanceof Error ? error.message : String(error)
    const damaged = moveDamagedAway(file)
    open()
    log.error({ file, damaged, reason }, 'activity database was damaged; started a new one')
    onDamaged?.(damaged, reason)
  }

  async function attempt<T>(work: (database: ActivityDatabase) => Promise<T> | T): Promise<T> {
    try {
      return await work(open())
    } catch (error) {
      if (!isDamaged(error) || file === MEMORY) throw error
      replace(error)
      return await work(open())
    }
  }

  const run: Keeper['run'] = (work) =>
    queue(async () => {
      try {
        return await attempt(work)
      } catch (error) {
        throw toActivityError(error, file)
      }
    })
  await run(() => undefined)
  return {
    run,
    close: () =>
      queue(() => {
        closed = true
        try {
          database?.close()
        } catch (error) {
          log.warn({ file, error: String(error) }, 'activity database was not closed cleanly')
        }
      }),
  }
}

function createStore(keeper: Keeper): ActivityStore {
  const read = <T>(query: (db: ActivityDb) => Promise<T>) => keeper.run(({ db }) => query(db))
  const change = <T>(work: (db: ActivityDb) => Promise<T>) =>
    keeper.run(({ db }) => db.transaction().execute((transaction) => work(transaction)))
  /** Deletes all actions in steps; calls that came before a step run first. */
  const deleteAll = async (owner: 'session_id' | 'project_id', id: string) => {
    let deleted = 0
    for (;;) {
      const step = await change((db) => removeActions(db, owner, id, STEP_ACTIONS))
      deleted += step
      if (step < STEP_ACTIONS) return deleted
    }
  }
  const deleteSession = async (session_id: string) => {
    await deleteAll('session_id', session_id)
    return await change(async (db) => {
      // Those that were written after the last step.
      await removeActions(db, 'session_id', session_id, Number.MAX_SAFE_INTEGER)
      return await removeSession(db, session_id)
    })
  }

  return {
    session: (session_id) =>
      read(async (db) => {
        const row = await db
          .selectFrom('sessions')
          .selectAll()
          .where('session_id', '=', session_id)
          .executeTakeFirst()
        return row === undefined ? null : toSessionRow(row)
      }),
    openSessions: () =>
      read(async (db) => {
        const rows = await db.selectFrom('sessions').selectAll().where('ended_at', 'is', null).execute()
        return rows.map(toSessionRow)
      }),
    write: (rows) => change((db) => writeRows(db, rows)),

    projects: (page) => read((db) => listProjects(db, page)),
    project: (by) => read((db) => findProject(db, by)),
    sessions: (input) => read((db) => listSessions(db, input)),
    requests: (input) => read((db) => listRequests(db, input)),
    tasks: (input) => read((db) => listTasks(db, input)),
    subtasks: (input) => read((db) => listSubtasks(db, input)),
    actions: (input) => read((db) => listActions(db, input)),
    tree: (input) => read((db) => readTree(db, input)),
    hourly: (input) => read((db) => readHourly(db, input)),
    toolsSummary: (input) => read((db) => readToolsSummary(db, input)),
    counts: (since) => read((db) => readCounts(db, since)),

    async deleteProject(project_id) {
      const sessions = await read((db) =>
        db.selectFrom('sessions').select('session_id').where('project_id', '=', project_id).execute(),
      )
      for (const { session_id } of sessions) await deleteSession(session_id)
      await deleteAll('project_id', project_id)
      await change((db) => removeProject(db, project_id))
      return sessions.length
    },
    deleteSession,
    deleteActions: (session_id) => deleteAll('session_id', session_id),
    prune: (before, bytes_max) => keeper.run((database) => pruneStep(database, before, bytes_max)),
    bytes: () => keeper.run((database) => database.bytes()),
    close: () => keeper.close(),
  }
}
