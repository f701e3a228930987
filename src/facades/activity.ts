/** What agents do: projects, sessions, requests, tasks, subtasks and actions, as their clients report them. */
import * as z from 'zod'
import {
  ActionRef,
  ActionsInput,
  ActionsPage,
  ActiveAgents,
  ActivityStats,
  CleanupStats,
  Completeness,
  CompletenessInput,
  Deleted,
  Hierarchy,
  HierarchyInput,
  Hourly,
  HourlyInput,
  Kpis,
  LogActionInput,
  ProjectActivity,
  ProjectInput,
  ProjectsInput,
  ProjectsPage,
  PutRequestInput,
  PutSubtaskInput,
  PutTaskInput,
  RequestRef,
  RequestsInput,
  RequestsPage,
  SessionActivity,
  SessionInput,
  SessionsInput,
  SessionsPage,
  SubtaskRef,
  SubtasksInput,
  SubtasksPage,
  TaskRef,
  TasksInput,
  TasksPage,
  ToolsSummary,
  ToolsSummaryInput,
} from '../contracts/activity/views.ts'
import type { ErrorCode } from '../contracts/errors/errors.ts'
import type { Activity } from '../modules/activity/types.ts'
import { defineAction, defineFacade, type Action } from '../kernel/define.ts'

/** Prompts and outputs of all personas are in it, so agents do not read it. */
const READERS = ['observer'] as const
const Nothing = z.strictObject({})

interface Declared<Input extends z.ZodType, Output extends z.ZodType> {
  summary: string
  input: Input
  output: Output
  examples?: readonly z.input<Input>[]
  /** In addition to `store_unavailable`. */
  errors?: readonly ErrorCode[]
  handle: (activity: Activity, input: z.output<Input>) => Promise<z.input<Output>>
}

function read<Input extends z.ZodType, Output extends z.ZodType>(declared: Declared<Input, Output>): Action {
  const { errors = [], handle, ...rest } = declared
  return defineAction({
    ...rest,
    mutates: false,
    errors: [...errors, 'store_unavailable'],
    allow: READERS,
    handle: (input, { modules: { activity } }) => handle(activity, input),
  })
}

/** Only for the operator. */
function change<Input extends z.ZodType, Output extends z.ZodType>(
  declared: Declared<Input, Output> & { destructive: boolean; idempotent?: boolean },
): Action {
  const { errors = [], handle, ...rest } = declared
  return defineAction({
    idempotent: true,
    ...rest,
    mutates: true,
    errors: [...errors, 'store_unavailable'],
    allow: [],
    handle: (input, { modules: { activity } }) => handle(activity, input),
  })
}

export const activity = defineFacade({
  name: 'activity',
  summary: 'What agents do, as their clients report it: sessions, prompts, tool calls, subagents, states.',
  compact: 'What agents do.',
  facet: 'trace',
  for_watchers: true,
  actions: {
    hierarchy: read({
      summary:
        'The tree project, session, request, task, subtask, action: {project_id?|path?, session_id?, limit?}.',
      input: HierarchyInput,
      output: Hierarchy,
      errors: ['activity_unknown'],
      examples: [{ limit: 5 }],
      handle: (activity, input) => activity.hierarchy(input),
    }),
    projects: read({
      summary: 'Projects with their counts: {limit?, cursor?}.',
      input: ProjectsInput,
      output: ProjectsPage,
      errors: ['params_invalid'],
      examples: [{}],
      handle: (activity, input) => activity.projects(input),
    }),
    project: read({
      summary: 'One project: {project_id} or {path}.',
      input: ProjectInput,
      output: ProjectActivity,
      errors: ['params_invalid', 'activity_unknown'],
      examples: [{ path: '/home/ada/parser' }],
      handle: (activity, input) => activity.project(input),
    }),
    sessions: read({
      summary:
        'Sessions with their states: {project_id?, identity?, client?, open?, since?, until?, limit?, cursor?}.',
      input: SessionsInput,
      output: SessionsPage,
      errors: ['params_invalid'],
      examples: [{ open: true }],
      handle: (activity, input) => activity.sessions(input),
    }),
    session: read({
      summary: 'One session with its state and the evidence: {session_id}.',
      input: SessionInput,
      output: SessionActivity,
      errors: ['activity_unknown'],
      examples: [{ session_id: 'ada-1' }],
      handle: (activity, input) => activity.session(input),
    }),
    requests: read({
      summary:
        'Prompts and their turns: {project_id?, session_id?, status?, since?, until?, limit?, cursor?}.',
      input: RequestsInput,
      output: RequestsPage,
      errors: ['params_invalid'],
      examples: [{ status: 'running' }],
      handle: (activity, input) => activity.requests(input),
    }),
    tasks: read({
      summary: 'Waves of subagents: {session_id?, request_id?, status?, limit?, cursor?}.',
      input: TasksInput,
      output: TasksPage,
      errors: ['params_invalid'],
      examples: [{}],
      handle: (activity, input) => activity.tasks(input),
    }),
    subtasks: read({
      summary: 'Subagents: {session_id?, task_id?, agent_type?, status?, limit?, cursor?}.',
      input: SubtasksInput,
      output: SubtasksPage,
      errors: ['params_invalid'],
      examples: [{ status: 'running' }],
      handle: (activity, input) => activity.subtasks(input),
    }),
    actions: read({
      summary: 'Tool calls, by project, session, request, subtask, tool, type, status and time.',
      input: ActionsInput,
      output: ActionsPage,
      errors: ['params_invalid'],
      examples: [{ tool_name: 'Bash', status: 'failed' }],
      handle: (activity, input) => activity.actions(input),
    }),
    active: read({
      summary: 'Open sessions, their states and their running subagents.',
      input: Nothing,
      output: ActiveAgents,
      examples: [{}],
      handle: (activity, input) => activity.active(input),
    }),
    hourly: read({
      summary: 'Tool calls by hour: {since?, until?, project_id?}.',
      input: HourlyInput,
      output: Hourly,
      examples: [{}],
      handle: (activity, input) => activity.hourly(input),
    }),
    tools_summary: read({
      summary: 'Calls, errors and mean duration of each tool: {since?, until?, project_id?}.',
      input: ToolsSummaryInput,
      output: ToolsSummary,
      examples: [{}],
      handle: (activity, input) => activity.toolsSummary(input),
    }),
    kpis: read({
      summary: 'Key figures of today and in total.',
      input: Nothing,
      output: Kpis,
      examples: [{}],
      handle: (activity, input) => activity.kpis(input),
    }),
    stats: read({
      summary: 'What is stored, and the size of the database.',
      input: Nothing,
      output: ActivityStats,
      examples: [{}],
      handle: (activity, input) => activity.stats(input),
    }),
    cleanup_stats: read({
      summary: 'Retention, and what was deleted because of it.',
      input: Nothing,
      output: CleanupStats,
      examples: [{}],
      handle: (activity, input) => activity.cleanupStats(input),
    }),
    completeness: read({
      summary: 'Whether events are missing, of one session or of all: {session_id?}.',
      input: CompletenessInput,
      output: Completeness,
      errors: ['activity_unknown'],
      examples: [{}],
      handle: (activity, input) => activity.completeness(input),
    }),

    log_action: change({
      destructive: false,
      idempotent: false,
      summary: 'Store a tool call of your own program, in a session that no client reports.',
      input: LogActionInput,
      output: ActionRef,
      errors: ['session_reported'],
      examples: [
        { session_id: 'nightly-7', project: '/home/ada/parser', tool_name: 'pytest', duration_ms: 5300 },
      ],
      handle: (activity, input) => activity.logAction(input),
    }),
    put_request: change({
      destructive: false,
      idempotent: false,
      summary: 'Begin a request of your own program, or end its newest one: {session_id, prompt?, status?}.',
      input: PutRequestInput,
      output: RequestRef,
      errors: ['session_reported'],
      examples: [{ session_id: 'nightly-7', prompt: 'run all tests' }],
      handle: (activity, input) => activity.putRequest(input),
    }),
    put_task: change({
      destructive: false,
      idempotent: false,
      summary: 'Store a wave of subagents: {session_id, request_id, wave_number, status?}.',
      input: PutTaskInput,
      output: TaskRef,
      errors: ['activity_unknown'],
      examples: [{ session_id: 'nightly-7', request_id: 'nightly-7.1', wave_number: 1 }],
      handle: (activity, input) => activity.putTask(input),
    }),
    put_subtask: change({
      destructive: false,
      idempotent: false,
      summary: 'Begin or end a subagent of your own program: {session_id, agent_id, agent_type?, status?}.',
      input: PutSubtaskInput,
      output: SubtaskRef,
      errors: ['session_reported'],
      examples: [{ session_id: 'nightly-7', agent_id: 'shard-1', agent_type: 'runner' }],
      handle: (activity, input) => activity.putSubtask(input),
    }),

    end_session: change({
      summary: 'Mark a session as ended whose client no longer reports: {session_id}.',
      destructive: false,
      input: SessionInput,
      output: SessionActivity,
      errors: ['activity_unknown'],
      examples: [{ session_id: 'ada-1' }],
      handle: (activity, input) => activity.endSession(input),
    }),
    delete_session: change({
      summary: 'Delete all activity of a session: {session_id}.',
      destructive: true,
      input: SessionInput,
      output: Deleted,
      errors: ['activity_unknown'],
      examples: [{ session_id: 'ada-1' }],
      handle: (activity, input) => activity.deleteSession(input),
    }),
    delete_project: change({
      summary: 'Delete all activity of a project: {project_id} or {path}.',
      destructive: true,
      input: ProjectInput,
      output: Deleted,
      errors: ['params_invalid', 'activity_unknown'],
      examples: [{ path: '/home/ada/parser' }],
      handle: (activity, input) => activity.deleteProject(input),
    }),
    delete_actions: change({
      summary: 'Delete the tool calls of a session, but not the session: {session_id}.',
      destructive: true,
      input: SessionInput,
      output: Deleted,
      errors: ['activity_unknown'],
      examples: [{ session_id: 'ada-1' }],
      handle: (activity, input) => activity.deleteActions(input),
    }),
  },
})
