/** Retention by age and size. */
import type { Pruned } from '../../../ports/activity-store.ts'
import type { ActivityDatabase } from './database.ts'
import { removeActions, removeSession, STEP_ACTIONS } from './remove.ts'
import type { ActivityDb } from './schema.ts'

/** Maximum number of sessions that one call deletes. */
const SESSIONS_MAX = 100
/** Maximum number of free pages that one call returns to the file system. */
const SHRINK_PAGES = 4_096

/** Deletes at most `STEP_ACTIONS` actions and `SESSIONS_MAX` sessions. */
export async function pruneStep(
  database: ActivityDatabase,
  before: string,
  bytes_max: number,
): Promise<Pruned> {
  const { db } = database
  const pruned = { sessions: 0, actions: 0 }
  let next = await nextSession(db, before, database.bytes() > bytes_max)
  while (next !== undefined && pruned.actions < STEP_ACTIONS && pruned.sessions < SESSIONS_MAX) {
    const { session_id } = next
    const limit = STEP_ACTIONS - pruned.actions
    await db.transaction().execute(async (transaction) => {
      const actions = await removeActions(transaction, 'session_id', session_id, limit)
      pruned.actions += actions
      if (actions < limit && (await removeSession(transaction, session_id))) pruned.sessions += 1
    })
    next = await nextSession(db, before, database.bytes() > bytes_max)
  }
  if (next === undefined) await removeUnusedProjects(db, before)
  database.shrink(SHRINK_PAGES)
  return { ...pruned, more: next !== undefined }
}

/** Returns the session without events for the longest time; if the size allows it, only one older than `before`. */
async function nextSession(db: ActivityDb, before: string, tooLarge: boolean) {
  let oldest = db.selectFrom('sessions').select('session_id').orderBy('last_at').limit(1)
  if (!tooLarge) oldest = oldest.where('last_at', '<', before)
  return await oldest.executeTakeFirst()
}

async function removeUnusedProjects(db: ActivityDb, before: string): Promise<void> {
  await db
    .deleteFrom('projects')
    .where('updated_at', '<', before)
    .where('actions', '=', 0)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('sessions')
            .select('sessions.session_id')
            .whereRef('sessions.project_id', '=', 'projects.project_id'),
        ),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('requests')
            .select('requests.request_id')
            .whereRef('requests.project_id', '=', 'projects.project_id'),
        ),
      ),
    )
    .execute()
}
