/** Deletes sessions in bounded steps, so that other calls of the store can run between two of them. */
import { applyTally, count, COUNTED, createTally } from './counters.ts'
import { inChunks } from './in-chunks.ts'
import type { ActivityDb } from './schema.ts'

/** Maximum number of actions that one step deletes. */
export const STEP_ACTIONS = 2_000

type Owner = 'session_id' | 'project_id'

/** Deletes the oldest actions of a session or of a project. Returns their number. Call it in a transaction. */
export async function removeActions(
  db: ActivityDb,
  owner: Owner,
  id: string,
  limit: number,
): Promise<number> {
  let query = db
    .selectFrom('actions')
    .select(['number', ...COUNTED])
    .where(owner, '=', id)
    .limit(limit)
  if (owner === 'session_id') query = query.orderBy('started_at')
  const actions = await query.execute()
  const tally = createTally()
  for (const action of actions) count(tally, action, -1)
  await inChunks(actions, async (chunk) => {
    const numbers = chunk.map(({ number }) => number)
    await db.deleteFrom('actions').where('number', 'in', numbers).execute()
  })
  await applyTally(db, tally)
  return actions.length
}

/** Deletes a session that has no actions, with all its rows. Returns whether it existed. */
export async function removeSession(db: ActivityDb, session_id: string): Promise<boolean> {
  for (const table of ['usage', 'subtasks', 'task_lists', 'requests'] as const)
    await db.deleteFrom(table).where('session_id', '=', session_id).execute()
  const [found] = await db.deleteFrom('sessions').where('session_id', '=', session_id).execute()
  return Number(found?.numDeletedRows ?? 0) > 0
}

/** Deletes a project that has no sessions and no actions, and its requests in sessions of other projects. */
export async function removeProject(db: ActivityDb, project_id: string): Promise<void> {
  const requests = db.selectFrom('requests').select('request_id').where('project_id', '=', project_id)
  const tasks = db.selectFrom('task_lists').select('task_id').where('request_id', 'in', requests)
  await db.deleteFrom('subtasks').where('task_id', 'in', tasks).execute()
  await db.deleteFrom('task_lists').where('request_id', 'in', requests).execute()
  await db.deleteFrom('requests').where('project_id', '=', project_id).execute()
  await db.deleteFrom('projects').where('project_id', '=', project_id).execute()
}
