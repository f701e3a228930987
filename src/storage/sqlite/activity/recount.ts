/** Counters of rows that are added after the rows that they count, and the sums of usage. */
import { ALL_PROJECTS, type ActivityDb } from './schema.ts'
import { inChunks } from './in-chunks.ts'
import { USAGE_COLUMNS, usageOf } from './usage-columns.ts'

/** Counts the stored actions of new sessions. */
export async function recountSessions(db: ActivityDb, session_ids: readonly string[]): Promise<void> {
  await inChunks(session_ids, async (ids) => {
    const counts = await db
      .selectFrom('actions')
      .select((eb) => ['session_id', 'status', eb.fn.countAll().as('actions')])
      .where('session_id', 'in', ids)
      .groupBy(['session_id', 'status'])
      .execute()
    for (const { session_id, status, actions } of counts) {
      const number = Number(actions)
      const errors = status === 'failed' || status === 'denied' ? number : 0
      await db
        .updateTable('sessions')
        .set((eb) => ({
          total_tools_used: eb('total_tools_used', '+', number),
          total_success: eb('total_success', '+', status === 'completed' ? number : 0),
          total_errors: eb('total_errors', '+', errors),
        }))
        .where('session_id', '=', session_id)
        .execute()
    }
  })
}

/** Counts the stored actions of new projects. */
export async function recountProjects(db: ActivityDb, project_ids: readonly string[]): Promise<void> {
  for (const project_id of project_ids) {
    if (project_id === ALL_PROJECTS) continue
    const sums = await db
      .selectFrom('action_hours')
      .select((eb) => [eb.fn.sum('actions').as('actions'), eb.fn.sum('errors').as('errors')])
      .where('project_id', '=', project_id)
      .executeTakeFirst()
    if (sums?.actions == null) continue
    await db
      .updateTable('projects')
      .set({ actions: Number(sums.actions), errors: Number(sums.errors) })
      .where('project_id', '=', project_id)
      .execute()
  }
}

/** Stores the sums of usage in the sessions. Adding differences instead would let the cost drift. */
export async function sumUsage(db: ActivityDb, session_ids: readonly string[]): Promise<void> {
  await inChunks(session_ids, async (ids) => {
    const sums = await db
      .selectFrom('usage')
      .select((eb) => ['session_id', ...USAGE_COLUMNS.map((name) => eb.fn.sum<number | null>(name).as(name))])
      .where('session_id', 'in', ids)
      .groupBy('session_id')
      .execute()
    for (const { session_id, ...sum } of sums) {
      await db.updateTable('sessions').set(usageOf(sum)).where('session_id', '=', session_id).execute()
    }
  })
}
