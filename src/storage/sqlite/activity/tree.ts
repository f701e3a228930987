/** The rows of a tree: the newest sessions, of each the newest requests and actions, and what these belong to. */
import type { ActionActivity, HierarchyInput, ProjectActivity } from '../../../contracts/activity/views.ts'
import type { TreeRows } from '../../../ports/activity-store.ts'
import { inChunks } from './in-chunks.ts'
import { newestRows, type ListPlan } from './keyset.ts'
import type { ActivityDb, StoredSession } from './schema.ts'
import {
  toProject,
  toRequest,
  toSessionListed,
  toSubtask,
  toTask,
  type StoredRequest,
  type StoredSubtask,
  type StoredTask,
} from './views.ts'

/** Bounds of one tree. Actions and requests are shared evenly by the sessions. */
const ACTIONS_MAX = 2_000
const REQUESTS_MAX = 500
const TASKS_MAX = 1_000
const SUBTASKS_MAX = 2_000

export async function readTree(db: ActivityDb, input: HierarchyInput): Promise<TreeRows> {
  const named = input.project_id !== undefined || input.path !== undefined
  const given = named ? await findProject(db, input) : null
  if (named && given === null) return treeOf(null)
  const plan: ListPlan = {
    table: 'sessions',
    indexed:
      input.session_id === undefined ? { project_id: given?.project_id } : { session_id: input.session_id },
    compared: input.session_id === undefined ? {} : { project_id: given?.project_id },
  }
  const sessions = await bounded<StoredSession>(db, plan, input.limit)
  const [first] = sessions.rows
  if (first === undefined) return treeOf(given)
  const share = (max: number) => Math.max(1, Math.floor(max / sessions.rows.length))
  let truncated = sessions.more
  const requests = new Map<string, StoredRequest>()
  const actions: ActionActivity[] = []
  for (const { session_id } of sessions.rows) {
    const ofSession = { indexed: { session_id } }
    const newest = await bounded<StoredRequest>(db, { table: 'requests', ...ofSession }, share(REQUESTS_MAX))
    for (const row of newest.rows) requests.set(row.request_id, row)
    const found = await readActions(db, session_id, share(ACTIONS_MAX))
    actions.push(...found.rows)
    truncated ||= newest.more || found.more
  }
  await addRequests(db, requests, actions)
  const tasks = await ofParents<StoredTask>(db, 'task_lists', 'request_id', [...requests.keys()], TASKS_MAX)
  const task_ids = tasks.rows.map((row) => row.task_id)
  const subtasks = await ofParents<StoredSubtask>(db, 'subtasks', 'task_id', task_ids, SUBTASKS_MAX)
  return {
    project: given ?? (input.session_id === undefined ? null : await projectOf(db, first.project_id)),
    sessions: sessions.rows.map(toSessionListed),
    requests: [...requests.values()].map(toRequest),
    tasks: tasks.rows.map(toTask),
    subtasks: subtasks.rows.map(toSubtask),
    actions,
    truncated: truncated || tasks.more || subtasks.more,
  }
}

export async function findProject(
  db: ActivityDb,
  { project_id, path }: { project_id?: string | undefined; path?: string | undefined },
): Promise<ProjectActivity | null> {
  if (project_id === undefined && path === undefined) return null
  let query = db.selectFrom('v_project_stats').selectAll()
  if (project_id !== undefined) query = query.where('project_id', '=', project_id)
  if (path !== undefined) query = query.where('path', '=', path)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : toProject(row)
}

function projectOf(db: ActivityDb, project_id: string | null): Promise<ProjectActivity | null> {
  return findProject(db, { project_id: project_id ?? undefined })
}

function treeOf(project: ProjectActivity | null): TreeRows {
  return { project, sessions: [], requests: [], tasks: [], subtasks: [], actions: [], truncated: false }
}

interface Bounded<Row> {
  rows: Row[]
  more: boolean
}

async function bounded<Row>(db: ActivityDb, plan: ListPlan, limit: number): Promise<Bounded<Row>> {
  const rows = await newestRows<Row>(db, plan, limit + 1)
  return { rows: rows.slice(0, limit), more: rows.length > limit }
}

/** Does not read inputs, outputs and the like, which are not part of a tree and can be large. */
async function readActions(
  db: ActivityDb,
  session_id: string,
  limit: number,
): Promise<Bounded<ActionActivity>> {
  const rows = await db
    .selectFrom('actions')
    .select(['action_id', 'project_id', 'request_id', 'subtask_id', 'tool_name', 'tool_type'])
    .select(['status', 'duration_ms', 'started_at', 'ended_at'])
    .where('session_id', '=', session_id)
    .orderBy('started_at', 'desc')
    .orderBy('number', 'desc')
    .limit(limit + 1)
    .execute()
  const left_out = { input: null, output: null, error: null, file_paths: [], exit_code: null }
  const actions = rows.slice(0, limit).map((row) => ({ ...row, session_id, ...left_out }))
  return { rows: actions, more: rows.length > limit }
}

/** Adds requests that have one of the actions but are not among the newest. */
async function addRequests(
  db: ActivityDb,
  requests: Map<string, StoredRequest>,
  actions: readonly ActionActivity[],
): Promise<void> {
  const missing = new Set<string>()
  for (const { request_id } of actions) {
    if (request_id !== null && !requests.has(request_id)) missing.add(request_id)
  }
  await inChunks([...missing], async (ids) => {
    const rows = await db.selectFrom('requests').selectAll().where('request_id', 'in', ids).execute()
    for (const row of rows) requests.set(row.request_id, row)
  })
}

/** Returns at most `limit` rows that belong to the given ones. */
async function ofParents<Row>(
  db: ActivityDb,
  table: 'task_lists' | 'subtasks',
  column: 'request_id' | 'task_id',
  parents: readonly string[],
  limit: number,
): Promise<Bounded<Row>> {
  const rows: Row[] = []
  await inChunks(parents, async (ids) => {
    if (rows.length > limit) return
    const found = await db
      // Both tables are read in the same way; the type of a column depends on the table.
      .selectFrom(table as 'subtasks')
      .selectAll()
      .where(column as 'task_id', 'in', ids)
      .limit(limit + 1 - rows.length)
      .execute()
    rows.push(...(found as unknown as Row[]))
  })
  return { rows: rows.slice(0, limit), more: rows.length > limit }
}
