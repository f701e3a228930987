/** Stores what agents do. All times are ISO 8601 in UTC, so they are ordered as text. */
import type { CapturedText, EndStatus } from '../contracts/activity/event.ts'
import type {
  ActionStatus,
  ActionActivity,
  ActionsInput,
  HierarchyInput,
  Hourly,
  HourlyInput,
  ProjectActivity,
  RequestActivity,
  RequestsInput,
  SessionActivity,
  SessionsInput,
  SubtaskActivity,
  SubtasksInput,
  TaskActivity,
  TasksInput,
  ToolsSummary,
  ToolType,
  Usage,
} from '../contracts/activity/views.ts'
import type { Identity, Json, SessionId, Timestamp } from '../contracts/ids.ts'

export interface ActivityStore {
  /** Returns the session, null if it is unknown. */
  session(session_id: SessionId): Promise<SessionRow | null>
  /** Returns the sessions that have not ended. */
  openSessions(): Promise<SessionRow[]>
  /**
   * Stores all of it or nothing. Rows are found by their ids. A field that is absent keeps its stored value, and a stored
   * end is kept, so the order of a begin and its end does not matter. A missing project, request or task that a row
   * names must be among the rows or stored.
   *
   * Counters of sessions, of projects and of hours always equal the stored actions.
   */
  write(rows: ActivityRows): Promise<void>

  projects(page: Page): Promise<Listed<ProjectActivity>>
  project(by: { project_id?: string | undefined; path?: string | undefined }): Promise<ProjectActivity | null>
  sessions(input: SessionsInput): Promise<Listed<SessionListed>>
  requests(input: RequestsInput): Promise<Listed<RequestActivity>>
  tasks(input: TasksInput): Promise<Listed<TaskActivity>>
  subtasks(input: SubtasksInput): Promise<Listed<SubtaskActivity>>
  actions(input: ActionsInput): Promise<Listed<ActionActivity>>
  /** Returns the rows of a tree: the newest sessions, and of them the newest requests and actions. */
  tree(input: HierarchyInput): Promise<TreeRows>
  hourly(input: HourlyInput): Promise<Hourly>
  toolsSummary(input: HourlyInput): Promise<ToolsSummary>
  /** Numbers of rows, and those since the given time. */
  counts(since: Timestamp): Promise<ActivityCounts>

  /** Returns the number of deleted sessions. */
  deleteProject(project_id: string): Promise<number>
  /** Returns whether it existed. */
  deleteSession(session_id: SessionId): Promise<boolean>
  /** Returns the number of deleted actions. */
  deleteActions(session_id: SessionId): Promise<number>
  /**
   * Deletes sessions whose last event is older than `before`, and then the oldest until the database is smaller than
   * `bytes_max`. At most a bounded number of rows per call; `more` if another call would delete more.
   */
  prune(before: Timestamp, bytes_max: number): Promise<Pruned>
  /** Size of the database in bytes. */
  bytes(): Promise<number>
  close(): Promise<void>
}

export interface Page {
  limit: number
  cursor?: string | undefined
}
export interface Listed<Item> {
  items: Item[]
  next_cursor: string | null
}
export interface Pruned {
  sessions: number
  actions: number
  more: boolean
}

export interface ActivityRows {
  projects: readonly ProjectRow[]
  sessions: readonly SessionRow[]
  requests: readonly RequestRow[]
  tasks: readonly TaskRow[]
  subtasks: readonly SubtaskRow[]
  actions: readonly ActionRow[]
  usage: readonly UsageRow[]
}

export interface ProjectRow {
  project_id: string
  /** Unique; a project that is stored with this path keeps its id. */
  path: string
  name: string
  at: Timestamp
}

/** Replaces the stored row, except for its counters. */
export interface SessionRow {
  session_id: SessionId
  identity: Identity
  client: string
  project_id: string | null
  continues: SessionId | null
  model: string | null
  started_at: Timestamp
  ended_at: Timestamp | null
  /** Time of the last event. */
  last_at: Timestamp
  context_tokens: number | null
  context_window: number | null
  /** The tracked state of the session, written by the module only. */
  track: Json
}
/** A session with its counters. The module adds the state. */
export type SessionListed = Omit<SessionActivity, 'state'> & { track: Json }

/** The first known begin is stored: `started_at` may be a guess from a later event if `begun` is false. */
interface Times {
  started_at: Timestamp
  ended_at?: Timestamp | undefined
}

export interface RequestRow extends Times {
  request_id: string
  session_id: SessionId
  project_id: string | null
  turn_seq: number
  prompt?: CapturedText | undefined
  prompt_type?: string | undefined
  status?: EndStatus | undefined
  error?: CapturedText | undefined
}

export interface TaskRow extends Times {
  task_id: string
  request_id: string
  session_id: SessionId
  wave_number: number
  status?: EndStatus | undefined
}

export interface SubtaskRow extends Times {
  subtask_id: string
  task_id: string
  session_id: SessionId
  agent_id: string
  agent_type?: string | undefined
  parent_agent_id?: string | undefined
  description?: CapturedText | undefined
  status?: EndStatus | undefined
  result?: CapturedText | undefined
}

export interface ActionRow extends Times {
  action_id: string
  session_id: SessionId
  project_id: string | null
  request_id: string | null
  subtask_id: string | null
  tool_name?: string | undefined
  tool_type?: ToolType | undefined
  input?: Json | undefined
  output?: CapturedText | undefined
  error?: CapturedText | undefined
  file_paths?: readonly string[] | undefined
  exit_code?: number | undefined
  duration_ms?: number | undefined
  status?: Exclude<ActionStatus, 'running'> | undefined
}

/** The last figures of a model request replace earlier ones. */
export interface UsageRow extends Usage {
  session_id: SessionId
  usage_id: string
  at: Timestamp
}

export interface TreeRows {
  project: ProjectActivity | null
  sessions: SessionListed[]
  requests: RequestActivity[]
  tasks: TaskActivity[]
  subtasks: SubtaskActivity[]
  actions: ActionActivity[]
  truncated: boolean
}

export interface ActivityCounts {
  projects: number
  sessions: { open: number; since: number; total: number }
  requests: { running: number; since: number; total: number }
  tasks: number
  subtasks: { running: number; total: number }
  actions: { since: number; errors_since: number; total: number }
  distinct_tools: number
  usage_since: Usage
  oldest_at: Timestamp | null
  schema_version: number
}
