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
   * Stores all of it or nothing. Rows are found by their ids. A field that is absent keeps its stored value, as does an id
   * that is null; the earliest `started_at`, the first `ended_at` and the first `status` are kept. The order of a begin and
   * its end therefore does not matter, and both may be in the same call. A missing project, request or task that a row
   * names should be among the rows or stored; a row is stored without it, too.
   *
   * Counters of sessions, of projects and of hours always equal the stored actions. Rejects with `store_unavailable` if the
   * disk refuses the write; the same rows may then be written again.
   */
  write(rows: ActivityRows): Promise<void>

  /**
   * Lists are ordered by `started_at`, newest first, and rows with the same time by the order in which they were first
   * written. `since` is included, `until` is not. All filters of an input must match. Throws `params_invalid` for a cursor
   * that no list returned.
   */
  sessions(input: SessionsInput): Promise<Listed<SessionListed>>
  requests(input: RequestsInput): Promise<Listed<RequestActivity>>
  tasks(input: TasksInput): Promise<Listed<TaskActivity>>
  subtasks(input: SubtasksInput): Promise<Listed<SubtaskActivity>>
  actions(input: ActionsInput): Promise<Listed<ActionActivity>>
  /** Ordered by the time of the last change, newest first. */
  projects(page: Page): Promise<Listed<ProjectActivity>>
  /** Returns the project that matches all that is given; null without one, and if nothing is given. */
  project(by: { project_id?: string | undefined; path?: string | undefined }): Promise<ProjectActivity | null>
  /**
   * Returns the rows of a tree: the newest sessions, of each the newest requests and actions, and the requests, tasks and
   * subtasks that these belong to. Each session has an equal share of a bounded number of rows. Inputs, outputs and errors
   * of actions are left out.
   */
  tree(input: HierarchyInput): Promise<TreeRows>
  /** Whole hours, all that overlap the time from `since` to `until`. Without `since`, from the oldest. */
  hourly(input: HourlyInput): Promise<Hourly>
  /** The same hours, by tool; the most used ones. */
  toolsSummary(input: HourlyInput): Promise<ToolsSummary>
  /** Numbers of rows, and of those that began at the given time or later. */
  counts(since: Timestamp): Promise<ActivityCounts>

  /**
   * Deletes the project, its sessions, and its requests and actions in other sessions. Other calls may run before it is
   * complete. Returns the number of deleted sessions.
   */
  deleteProject(project_id: string): Promise<number>
  /** Returns whether it existed. */
  deleteSession(session_id: SessionId): Promise<boolean>
  /** Returns the number of deleted actions. */
  deleteActions(session_id: SessionId): Promise<number>
  /**
   * Deletes sessions whose last event is older than `before`, and then the oldest until `bytes()` is at most `bytes_max`;
   * also projects without sessions that have not changed since `before`. At most a bounded number of rows per call; `more`
   * if another call would delete more.
   */
  prune(before: Timestamp, bytes_max: number): Promise<Pruned>
  /** Size of the stored data in bytes, without space that can be used again. */
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

/** `started_at` may be the time of a later event if the begin is not known yet. */
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
  /** Stored as `unknown` until it is given. */
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
