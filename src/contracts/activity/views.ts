/** What the facade `activity` returns, and the inputs of its actions. */
import * as z from 'zod'
import { ClientName } from './client-name.ts'
import { CapturedText, CapturedValue, EndStatus } from './event.ts'
import { SessionState, type SessionStateName } from './session-state.ts'
import { Identity, SessionId, Timestamp } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'

const Count = z.number().int().min(0)
const Id = z.string().min(1).max(512)
/** Absolute path of a project. */
const Root = z.string().min(1).max(4_096)

/** `running` until the end is reported. */
export const WorkStatus = z.enum(['running', ...EndStatus.options])
export type WorkStatus = z.infer<typeof WorkStatus>

/** `denied`: a person or a rule refused the call. */
export const ActionStatus = z.enum(['running', 'completed', 'failed', 'denied'])
export type ActionStatus = z.infer<typeof ActionStatus>

/** By the name of the tool: of the client itself, one that starts agents, a skill, or one of an MCP server. */
export const ToolType = z.enum(['builtin', 'agent', 'skill', 'mcp'])
export type ToolType = z.infer<typeof ToolType>

/** `ended_at` is null while it runs. */
const TIMES = { started_at: Timestamp, ended_at: Timestamp.nullable() }

export const Usage = z
  .object({
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    /** Null if the client never reported a cost. */
    cost_usd: z.number().nullable(),
  })
  .meta({ title: 'Usage' })
export type Usage = z.infer<typeof Usage>

export const ProjectActivity = z
  .object({
    project_id: Id,
    path: Root,
    name: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
    sessions: Count,
    requests: Count,
    actions: Count,
    errors: Count,
  })
  .meta({ title: 'ProjectActivity' })
export type ProjectActivity = z.infer<typeof ProjectActivity>

export const SessionActivity = z
  .object({
    session_id: SessionId,
    identity: Identity,
    client: ClientName,
    project_id: Id.nullable(),
    /** The session that this one continues. */
    continues: SessionId.nullable(),
    model: z.string().nullable(),
    ...TIMES,
    state: SessionState,
    total_tools_used: Count,
    total_success: Count,
    total_errors: Count,
    usage: Usage,
    context_tokens: Count.nullable(),
    context_window: Count.nullable(),
  })
  .meta({ title: 'SessionActivity' })
export type SessionActivity = z.infer<typeof SessionActivity>

/** A prompt and the turn that answers it. */
export const RequestActivity = z
  .object({
    request_id: Id,
    session_id: SessionId,
    project_id: Id.nullable(),
    turn_seq: Count,
    prompt: CapturedText.nullable(),
    prompt_type: z.string().nullable(),
    status: WorkStatus,
    error: CapturedText.nullable(),
    ...TIMES,
  })
  .meta({ title: 'RequestActivity' })
export type RequestActivity = z.infer<typeof RequestActivity>

/** A wave: the subagents of one request that ran at the same time. */
export const TaskActivity = z
  .object({
    task_id: Id,
    request_id: Id,
    session_id: SessionId,
    wave_number: z.number().int().min(1),
    status: WorkStatus,
    ...TIMES,
  })
  .meta({ title: 'TaskActivity' })
export type TaskActivity = z.infer<typeof TaskActivity>

/** The work of one subagent. */
export const SubtaskActivity = z
  .object({
    subtask_id: Id,
    task_id: Id,
    session_id: SessionId,
    agent_id: z.string(),
    agent_type: z.string().nullable(),
    /** The subagent that started it; null for the main agent. */
    parent_agent_id: z.string().nullable(),
    description: CapturedText.nullable(),
    status: WorkStatus,
    result: CapturedText.nullable(),
    ...TIMES,
  })
  .meta({ title: 'SubtaskActivity' })
export type SubtaskActivity = z.infer<typeof SubtaskActivity>

/** One tool call. */
export const ActionActivity = z
  .object({
    action_id: Id,
    session_id: SessionId,
    project_id: Id.nullable(),
    request_id: Id.nullable(),
    /** Null for the main agent. */
    subtask_id: Id.nullable(),
    /** For a skill or a subagent its name, otherwise the name of the tool. */
    tool_name: z.string(),
    tool_type: ToolType,
    input: CapturedValue.nullable(),
    output: CapturedText.nullable(),
    error: CapturedText.nullable(),
    file_paths: z.array(z.string()),
    exit_code: z.number().int().nullable(),
    duration_ms: Count.nullable(),
    status: ActionStatus,
    ...TIMES,
  })
  .meta({ title: 'ActionActivity' })
export type ActionActivity = z.infer<typeof ActionActivity>

// --- pages

/** A cursor is opaque. Newest first. */
const PAGE = {
  limit: z.number().int().min(1).max(LIMITS.activity_page_max).default(LIMITS.activity_page_default),
  cursor: z.string().max(1_024).optional(),
}
const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() })

const SINCE = { since: Timestamp.optional(), until: Timestamp.optional() }

export const ProjectsInput = z.strictObject({ ...PAGE })
export const ProjectsPage = pageOf(ProjectActivity)
/** One of them. */
export const ProjectInput = z.strictObject({ project_id: Id.optional(), path: Root.optional() })
export const SessionsInput = z.strictObject({
  ...PAGE,
  ...SINCE,
  project_id: Id.optional(),
  identity: Identity.optional(),
  client: ClientName.optional(),
  /** Only open or only ended ones. */
  open: z.boolean().optional(),
})
export type SessionsInput = z.infer<typeof SessionsInput>
export const SessionsPage = pageOf(SessionActivity)
export const SessionInput = z.strictObject({ session_id: SessionId })
export const RequestsInput = z.strictObject({
  ...PAGE,
  ...SINCE,
  project_id: Id.optional(),
  session_id: SessionId.optional(),
  status: WorkStatus.optional(),
})
export type RequestsInput = z.infer<typeof RequestsInput>
export const RequestsPage = pageOf(RequestActivity)
export const TasksInput = z.strictObject({
  ...PAGE,
  session_id: SessionId.optional(),
  request_id: Id.optional(),
  status: WorkStatus.optional(),
})
export type TasksInput = z.infer<typeof TasksInput>
export const TasksPage = pageOf(TaskActivity)
export const SubtasksInput = z.strictObject({
  ...PAGE,
  session_id: SessionId.optional(),
  task_id: Id.optional(),
  agent_type: z.string().max(256).optional(),
  status: WorkStatus.optional(),
})
export type SubtasksInput = z.infer<typeof SubtasksInput>
export const SubtasksPage = pageOf(SubtaskActivity)
export const ActionsInput = z.strictObject({
  ...PAGE,
  ...SINCE,
  project_id: Id.optional(),
  session_id: SessionId.optional(),
  request_id: Id.optional(),
  subtask_id: Id.optional(),
  tool_name: z.string().max(256).optional(),
  tool_type: ToolType.optional(),
  status: ActionStatus.optional(),
})
export type ActionsInput = z.infer<typeof ActionsInput>
export const ActionsPage = pageOf(ActionActivity)

// --- the tree

export const HierarchyInput = z.strictObject({
  project_id: Id.optional(),
  path: Root.optional(),
  session_id: SessionId.optional(),
  /** Number of sessions, newest first; of each the newest requests and actions. */
  limit: z.number().int().min(1).max(LIMITS.activity_page_max).default(20),
})
export type HierarchyInput = z.infer<typeof HierarchyInput>

/** Without input, output and result, which `actions` and `subtasks` return. */
const ActionNode = ActionActivity.pick({
  action_id: true,
  tool_name: true,
  tool_type: true,
  status: true,
  duration_ms: true,
  started_at: true,
  ended_at: true,
}).meta({ title: 'ActionNode' })
const SubtaskNode = SubtaskActivity.pick({
  subtask_id: true,
  agent_id: true,
  agent_type: true,
  parent_agent_id: true,
  description: true,
  status: true,
  started_at: true,
  ended_at: true,
})
  .extend({ actions: z.array(ActionNode) })
  .meta({ title: 'SubtaskNode' })
const TaskNode = TaskActivity.pick({ task_id: true, wave_number: true, status: true })
  .extend({
    subtasks: z.array(SubtaskNode),
  })
  .meta({ title: 'TaskNode' })
const RequestNode = RequestActivity.pick({
  request_id: true,
  turn_seq: true,
  prompt: true,
  prompt_type: true,
  status: true,
  started_at: true,
  ended_at: true,
})
  .extend({
    /** Calls of the main agent. */
    actions: z.array(ActionNode),
    tasks: z.array(TaskNode),
  })
  .meta({ title: 'RequestNode' })
const SessionNode = SessionActivity.pick({
  session_id: true,
  identity: true,
  client: true,
  state: true,
  started_at: true,
  ended_at: true,
})
  .extend({ requests: z.array(RequestNode) })
  .meta({ title: 'SessionNode' })
/** Project -> session -> request -> task -> subtask -> action, each oldest first. */
export const Hierarchy = z.object({
  project: ProjectActivity.nullable(),
  sessions: z.array(SessionNode),
  /** Whether older sessions, requests or actions are left out. */
  truncated: z.boolean(),
})
export type Hierarchy = z.infer<typeof Hierarchy>

// --- aggregates

/** Default: the last 24 hours. */
export const HourlyInput = z.strictObject({ ...SINCE, project_id: Id.optional() })
export type HourlyInput = z.infer<typeof HourlyInput>
export const Hourly = z.object({
  /** Oldest first; hours without actions are left out. */
  hours: z.array(z.object({ hour: Timestamp, actions: Count, errors: Count })),
})
export type Hourly = z.infer<typeof Hourly>

export const ToolsSummaryInput = HourlyInput
export const ToolsSummary = z.object({
  /** Most used first. */
  tools: z.array(
    z.object({
      tool_name: z.string(),
      tool_type: ToolType,
      actions: Count,
      errors: Count,
      /** Mean, in milliseconds; null if no duration was reported. */
      duration_ms: z.number().nullable(),
    }),
  ),
})
export type ToolsSummary = z.infer<typeof ToolsSummary>

export const ActiveAgents = z.object({
  items: z.array(
    SessionActivity.pick({
      session_id: true,
      identity: true,
      client: true,
      project_id: true,
      state: true,
    }).extend({
      subtasks: z.array(
        SubtaskActivity.pick({ subtask_id: true, agent_id: true, agent_type: true, started_at: true }),
      ),
    }),
  ),
  totals: z.object({
    working: Count,
    waiting: Count,
    idle: Count,
    compacting: Count,
    failed: Count,
    ended: Count,
    unknown: Count,
  } satisfies Record<SessionStateName, z.ZodType>),
})
export type ActiveAgents = z.infer<typeof ActiveAgents>

export const Kpis = z.object({
  sessions: z.object({ open: Count, today: Count, total: Count }),
  requests: z.object({ running: Count, today: Count, total: Count }),
  actions: z.object({ today: Count, total: Count, errors_today: Count }),
  subtasks: z.object({ running: Count, total: Count }),
  tools: z.object({ distinct: Count }),
  usage_today: Usage,
})
export type Kpis = z.infer<typeof Kpis>

export const ActivityStats = z.object({
  projects: Count,
  sessions: Count,
  requests: Count,
  tasks: Count,
  subtasks: Count,
  actions: Count,
  /** Size of the database. */
  bytes: Count,
  oldest_at: Timestamp.nullable(),
  schema_version: z.number().int(),
})
export type ActivityStats = z.infer<typeof ActivityStats>

export const CleanupStats = z.object({
  retention_days: Count,
  bytes_max: Count,
  bytes: Count,
  /** Null before the first run. */
  last_run_at: Timestamp.nullable(),
  deleted_sessions: Count,
  deleted_actions: Count,
})
export type CleanupStats = z.infer<typeof CleanupStats>

export const CompletenessInput = z.strictObject({ session_id: SessionId.optional() })
export const Completeness = z.object({
  received: Count,
  /** Ranges `[from, to]` of missing numbers, both ends included. */
  missing: z.array(z.array(z.number().int()).length(2)),
  /** Events that arrived through the spool. */
  spooled: Count,
  /** Events that the shim or the hub could not store. */
  dropped: Count,
  /** Time of the last event of an open session; null without one. */
  silent_since: Timestamp.nullable(),
})
export type Completeness = z.infer<typeof Completeness>

// --- entries of programs without a shim

const OF_SESSION = {
  session_id: SessionId,
  /** Directory and persona of the session, which is created with its first entry. Default: none, and the operator. */
  project: Root.optional(),
  identity: Identity.optional(),
}

export const LogActionInput = z.strictObject({
  ...OF_SESSION,
  /** Default: a new id. */
  action_id: z.string().min(1).max(256).optional(),
  tool_name: z.string().min(1).max(256),
  input: CapturedValue.optional(),
  output: CapturedText.optional(),
  error: CapturedText.optional(),
  exit_code: z.number().int().optional(),
  duration_ms: Count.optional(),
  /** The subagent that called it. */
  agent_id: z.string().min(1).max(256).optional(),
  /** Default: `failed` with an `error`, otherwise `completed`. */
  status: ActionStatus.optional(),
})
export type LogActionInput = z.infer<typeof LogActionInput>
export const PutRequestInput = z.strictObject({
  ...OF_SESSION,
  prompt: CapturedText.optional(),
  prompt_type: z.string().max(256).optional(),
  /** `running` begins a request; another status ends the newest one. */
  status: WorkStatus.default('running'),
  error: CapturedText.optional(),
})
export type PutRequestInput = z.infer<typeof PutRequestInput>
export const PutTaskInput = z.strictObject({
  session_id: SessionId,
  request_id: Id,
  wave_number: z.number().int().min(1),
  status: WorkStatus.default('running'),
})
export type PutTaskInput = z.infer<typeof PutTaskInput>
export const PutSubtaskInput = z.strictObject({
  ...OF_SESSION,
  agent_id: z.string().min(1).max(256),
  agent_type: z.string().max(256).optional(),
  description: CapturedText.optional(),
  status: WorkStatus.default('running'),
  result: CapturedText.optional(),
})
export type PutSubtaskInput = z.infer<typeof PutSubtaskInput>

export const ActionRef = z.object({ action_id: Id })
export const RequestRef = z.object({ request_id: Id })
export const TaskRef = z.object({ task_id: Id })
export const SubtaskRef = z.object({ subtask_id: Id })

export const Deleted = z.object({ deleted: Count })
