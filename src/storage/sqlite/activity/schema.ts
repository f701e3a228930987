/** Tables of the activity database, as kysely sees them. JSON columns are text; times are ISO 8601 in UTC. */
import type { Generated, Kysely, Selectable } from 'kysely'
import type { ActionStatus, ToolType, WorkStatus } from '../../../contracts/activity/views.ts'

/** Order of insertion; decides the order of rows with the same time. */
interface Numbered {
  number: Generated<number>
}

interface Times {
  started_at: string
  ended_at: string | null
}

export interface ProjectTable extends Numbered {
  project_id: string
  path: string
  name: string
  created_at: string
  updated_at: string
  /** Stored actions that name the project, and those that failed or were denied. */
  actions: Generated<number>
  errors: Generated<number>
}

interface UsageColumns {
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  cost_usd: number | null
}

export interface SessionTable extends Numbered, Times {
  session_id: string
  identity: string
  client: string
  project_id: string | null
  continues: string | null
  model: string | null
  last_at: string
  context_tokens: number | null
  context_window: number | null
  /** JSON. */
  track: string
  total_tools_used: Generated<number>
  total_success: Generated<number>
  total_errors: Generated<number>
  /** Sums of `usage`. */
  input_tokens: Generated<number>
  output_tokens: Generated<number>
  cache_read_tokens: Generated<number>
  cache_write_tokens: Generated<number>
  cost_usd: Generated<number | null>
}

export interface RequestTable extends Numbered, Times {
  request_id: string
  session_id: string
  project_id: string | null
  turn_seq: number
  /** JSON, as `error`. */
  prompt: string | null
  prompt_type: string | null
  status: WorkStatus
  error: string | null
}

export interface TaskListTable extends Numbered, Times {
  task_id: string
  request_id: string
  session_id: string
  wave_number: number
  status: WorkStatus
}

export interface SubtaskTable extends Numbered, Times {
  subtask_id: string
  task_id: string
  session_id: string
  agent_id: string
  agent_type: string | null
  parent_agent_id: string | null
  /** JSON, as `result`. */
  description: string | null
  status: WorkStatus
  result: string | null
}

export interface ActionTable extends Numbered, Times {
  action_id: string
  session_id: string
  project_id: string | null
  request_id: string | null
  subtask_id: string | null
  tool_name: string
  tool_type: ToolType
  status: ActionStatus
  duration_ms: number | null
  exit_code: number | null
  /** JSON, as the next ones. */
  file_paths: string | null
  input: string | null
  output: string | null
  error: string | null
}

export interface UsageTable extends UsageColumns {
  session_id: string
  usage_id: string
  at: string
}

/** Numbers of stored actions by the hour of their begin. */
export interface ActionHourTable {
  /** Empty in the rows that count the actions of all projects, also those without one. */
  project_id: string
  hour: string
  tool_name: string
  tool_type: ToolType
  actions: number
  errors: number
  /** Sum of the reported durations, and their number. */
  duration_ms: number
  durations: number
}

export interface ActivityTables {
  projects: ProjectTable
  sessions: SessionTable
  requests: RequestTable
  task_lists: TaskListTable
  subtasks: SubtaskTable
  actions: ActionTable
  usage: UsageTable
  action_hours: ActionHourTable
  schema_version: { version: number; applied_at: string }
  /** Projects with the numbers of their sessions and requests. */
  v_project_stats: ProjectTable & { sessions: number; requests: number }
}

export type ActivityDb = Kysely<ActivityTables>
export type StoredSession = Selectable<SessionTable>
export type StoredAction = Selectable<ActionTable>

/** `project_id` of the rows of `action_hours` that count all projects. */
export const ALL_PROJECTS = ''
