/** What agents do: capture, states and the queries of the facade `activity`. */
import type { z } from 'zod'
import type { ActivityEvent } from '../../contracts/activity/event.ts'
import type { SessionState } from '../../contracts/activity/session-state.ts'
import type {
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
} from '../../contracts/activity/views.ts'
import type { Identity, SessionId, Timestamp } from '../../contracts/ids.ts'

type In<Schema extends z.ZodType> = z.output<Schema>

/**
 * All methods take and return JSON, because the hub runs the implementation in a thread of its own. A method of an unknown
 * session or project rejects with `activity_unknown`.
 */
export interface Activity {
  /**
   * Stores events of one session, each `(session_id, seq)` once, in any order. Rejects with `identity_mismatch` if the
   * session belongs to another persona, and with `store_unavailable`.
   */
  ingest(batch: ActivityBatch): Promise<IngestResult>

  /**
   * Stores the events of a hook payload, which the hub numbers. Resolves with null if the payload shows nothing, or if the
   * session is reported by a shim. Rejects as `ingest`.
   */
  ingestHook(hook: HookReport): Promise<IngestResult | null>

  hierarchy(input: HierarchyInput): Promise<Hierarchy>
  projects(input: In<typeof ProjectsInput>): Promise<In<typeof ProjectsPage>>
  project(input: In<typeof ProjectInput>): Promise<ProjectActivity>
  sessions(input: SessionsInput): Promise<In<typeof SessionsPage>>
  session(input: In<typeof SessionInput>): Promise<SessionActivity>
  requests(input: RequestsInput): Promise<In<typeof RequestsPage>>
  tasks(input: TasksInput): Promise<In<typeof TasksPage>>
  subtasks(input: SubtasksInput): Promise<In<typeof SubtasksPage>>
  actions(input: ActionsInput): Promise<In<typeof ActionsPage>>
  /** Open sessions and their running subagents. */
  active(input: object): Promise<ActiveAgents>
  hourly(input: HourlyInput): Promise<Hourly>
  toolsSummary(input: HourlyInput): Promise<ToolsSummary>
  kpis(input: object): Promise<Kpis>
  stats(input: object): Promise<ActivityStats>
  cleanupStats(input: object): Promise<CleanupStats>
  completeness(input: In<typeof CompletenessInput>): Promise<Completeness>

  /**
   * Entries of programs without a shim, as events that the hub numbers. All but `putTask`, which only needs a stored session,
   * reject with `session_reported` if a shim reports the session.
   */
  logAction(input: LogActionInput): Promise<In<typeof ActionRef>>
  putRequest(input: PutRequestInput): Promise<In<typeof RequestRef>>
  putTask(input: PutTaskInput): Promise<In<typeof TaskRef>>
  putSubtask(input: PutSubtaskInput): Promise<In<typeof SubtaskRef>>

  /** A person's statement that the session has ended. */
  endSession(input: In<typeof SessionInput>): Promise<SessionActivity>
  deleteSession(input: In<typeof SessionInput>): Promise<In<typeof Deleted>>
  deleteProject(input: In<typeof ProjectInput>): Promise<In<typeof Deleted>>
  deleteActions(input: In<typeof SessionInput>): Promise<In<typeof Deleted>>

  /** Processes of open sessions, for `processesEnded`. */
  openProcesses(input: object): Promise<SessionProcess[]>
  /** Ends the sessions whose processes have ended, and returns those that had not ended before. */
  processesEnded(input: { session_ids: SessionId[] }): Promise<EndedSession[]>
  /** Deletes old activity; called periodically. */
  cleanUp(input: object): Promise<void>
  close(): Promise<void>
}

export interface ActivityBatch {
  session_id: SessionId
  identity: Identity
  client: string
  events: readonly ActivityEvent[]
  /** The events are those of hooks, without a shim. */
  numbered_by_hub: boolean
  /** The events come from the spool. */
  spooled: boolean
  /** Number of earlier events of the session that the hub did not store, because of the rate or the disk. */
  dropped: number
}

export interface HookReport {
  identity: Identity
  client: string
  /** The payload as the client sent it. */
  body: Readonly<Record<string, unknown>>
  /** Default: now. */
  at?: Timestamp
}

export interface IngestResult {
  accepted: number
  duplicates: number
  next_seq: number
  /** The session's state, if the events changed it. */
  changed: SessionState | null
}

export interface EndedSession {
  session_id: SessionId
  identity: Identity
  client: string
  state: SessionState
}

export interface SessionProcess {
  session_id: SessionId
  pid: number
  pid_started: string | null
}
