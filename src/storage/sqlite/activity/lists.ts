/** The lists: which filter uses which index of `migrations.ts`. */
import {
  ActionStatus,
  ToolType,
  WorkStatus,
  type ActionActivity,
  type ActionsInput,
  type ProjectActivity,
  type RequestActivity,
  type RequestsInput,
  type SessionsInput,
  type SubtaskActivity,
  type SubtasksInput,
  type TaskActivity,
  type TasksInput,
} from '../../../contracts/activity/views.ts'
import type { Listed, Page, SessionListed } from '../../../ports/activity-store.ts'
import { listPage, type ListPlan } from './keyset.ts'
import type { ActivityDb, StoredAction, StoredSession } from './schema.ts'
import {
  toAction,
  toProject,
  toRequest,
  toSessionListed,
  toSubtask,
  toTask,
  type StoredProject,
  type StoredRequest,
  type StoredSubtask,
  type StoredTask,
} from './views.ts'

const WORK = { status: WorkStatus.options }
const TOOL_CALLS = { tool_type: ToolType.options, status: ActionStatus.options }

/** Ordered by the time of the last change. */
export async function listProjects(db: ActivityDb, page: Page): Promise<Listed<ProjectActivity>> {
  const plan = { table: 'projects', view: 'v_project_stats', time: 'updated_at' }
  return converted(await listPage<StoredProject>(db, plan, page), toProject)
}

export async function listSessions(db: ActivityDb, input: SessionsInput): Promise<Listed<SessionListed>> {
  const { project_id, identity, client, open, since, until } = input
  const plan = { table: 'sessions', open, since, until, ...bySelective({ project_id, identity, client }) }
  return converted(await listPage<StoredSession>(db, plan, input), toSessionListed)
}

export async function listRequests(db: ActivityDb, input: RequestsInput): Promise<Listed<RequestActivity>> {
  const { session_id, project_id, status, since, until } = input
  const plan = {
    ...{ table: 'requests', since, until },
    ...by({ session_id }, { project_id, status }, WORK),
  }
  return converted(await listPage<StoredRequest>(db, plan, input), toRequest)
}

export async function listTasks(db: ActivityDb, input: TasksInput): Promise<Listed<TaskActivity>> {
  const { request_id, session_id, status } = input
  const plan = { table: 'task_lists', ...by({ request_id, session_id }, { status }, WORK) }
  return converted(await listPage<StoredTask>(db, plan, input), toTask)
}

export async function listSubtasks(db: ActivityDb, input: SubtasksInput): Promise<Listed<SubtaskActivity>> {
  const { task_id, session_id, agent_type, status } = input
  const plan = { table: 'subtasks', ...by({ task_id, session_id }, { agent_type, status }, WORK) }
  return converted(await listPage<StoredSubtask>(db, plan, input), toSubtask)
}

export async function listActions(db: ActivityDb, input: ActionsInput): Promise<Listed<ActionActivity>> {
  const { subtask_id, request_id, session_id, project_id, tool_name, tool_type, status, since, until } = input
  const plan = {
    ...{ table: 'actions', since, until },
    ...by({ subtask_id, request_id, session_id }, { project_id, tool_name, tool_type, status }, TOOL_CALLS),
  }
  return converted(await listPage<StoredAction>(db, plan, input), toAction)
}

type Given = Readonly<Record<string, string | undefined>>
type Filters = Pick<ListPlan, 'indexed' | 'expanded' | 'compared'>

/**
 * Uses the index of the first given column of `selective`, which leaves few rows, and compares the rest. Without one,
 * uses the index of the columns of `others`, with all values of those that are not given.
 */
function by(selective: Given, others: Given, expanded: NonNullable<ListPlan['expanded']>): Filters {
  if (Object.values(selective).every((value) => value === undefined)) return { indexed: others, expanded }
  const { indexed, compared } = bySelective(selective)
  return { indexed, compared: { ...compared, ...others } }
}

function bySelective(columns: Given) {
  const given = Object.entries(columns).filter(([, value]) => value !== undefined)
  return { indexed: Object.fromEntries(given.slice(0, 1)), compared: Object.fromEntries(given.slice(1)) }
}

function converted<Stored, View>(
  { items, next_cursor }: Listed<Stored>,
  convert: (row: Stored) => View,
): Listed<View> {
  return { items: items.map(convert), next_cursor }
}
