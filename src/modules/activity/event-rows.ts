/** Turns events of one session into rows: its requests, waves, subagents, tool calls and usage. */
import type { ActivityEvent, EndStatus } from '../../contracts/activity/event.ts'
import type { Timestamp } from '../../contracts/ids.ts'
import type { ActionRow, ActivityRows, SubtaskRow, TaskRow } from '../../ports/activity-store.ts'
import { defined } from '../lib/defined.ts'
import type { FilteredEvent } from './content-filter.ts'
import { isWhole } from './received.ts'
import { applyEvent, processEnded } from './session-state.ts'
import { withoutSubtask, withSubtask, type KnownSubtask, type Session } from './session-track.ts'
import { later, type StateTrack } from './state-track.ts'
import { toolType } from './tool-names.ts'

type Mutable<List> = List extends readonly (infer Row)[] ? Row[] : never
export type RowLists = { [Kind in keyof ActivityRows]: Mutable<ActivityRows[Kind]> }

/** A session while events are applied to it. Its row and track are replaced, never changed. */
export interface Draft {
  session: Session
  rows: RowLists
  /** Ids of the projects that the events name, by path. */
  projects: ReadonlyMap<string, string>
}

export function createDraft(session: Session, projects: ReadonlyMap<string, string> = new Map()): Draft {
  return {
    session,
    projects,
    rows: { projects: [], sessions: [], requests: [], tasks: [], subtasks: [], actions: [], usage: [] },
  }
}

/** Applies an event: changes the session and adds rows. The session's row is added by the caller, after all events. */
export function foldEvent(draft: Draft, { event, call, denied }: FilteredEvent): void {
  const { session } = draft
  const before = session.track.state
  const state = applyEvent(before, event, call?.name)
  draft.session = {
    row: { ...session.row, last_at: later(session.row.last_at, event.at), ended_at: endOf(state) },
    track: { ...session.track, state },
  }
  switch (event.kind) {
    case 'session.started':
      foldSessionStart(draft, event, event.seq < (before?.seq ?? 0))
      break
    case 'request.started':
    case 'request.ended':
      foldRequest(draft, event)
      break
    case 'action.started':
      if (denied) noteDenied(draft, event.data.action_id)
      addAction(draft, event, before, {
        tool_name: call?.name ?? event.data.tool,
        tool_type: call?.type ?? toolType(event.data.tool, event.client),
        input: event.data.input,
        file_paths: call === null || call.paths.length === 0 ? undefined : call.paths,
      })
      break
    case 'action.ended':
    case 'action.failed':
      foldActionEnd(draft, event, before)
      break
    case 'subtask.started':
      foldSubtaskStart(draft, event)
      break
    case 'subtask.ended': {
      const { subtask_id, status = 'completed', result } = event.data
      ensureSubtask(draft, subtask_id, event)
      endSubtask(draft, subtask_id, status, event.at, event.seq, result)
      break
    }
    case 'usage':
      foldUsage(draft, event)
      break
    default:
  }
  if (before !== null) closeLost(draft, before, event)
}

/** Applies the end of the process, or a person's statement that the session has ended. */
export function foldEnd(draft: Draft, at: Timestamp, source: 'process' | 'person'): void {
  const { session } = draft
  const before = session.track.state
  if (before === null) return
  const state = processEnded(before, at, source)
  draft.session = {
    row: { ...session.row, ended_at: endOf(state) },
    track: { ...session.track, state },
  }
  closeLost(draft, before, { kind: 'session.ended', at: endOf(state) ?? at, seq: before.seq })
}

function endOf({ base }: StateTrack): Timestamp | null {
  return base.state === 'ended' ? base.evidence.at : null
}

function requestId({ session }: Draft, turn: number): string {
  return `${session.row.session_id}.${turn}`
}
const subtaskId = ({ session }: Draft, id: string) => `${session.row.session_id}.${id}`
const actionId = subtaskId

function foldSessionStart(
  draft: Draft,
  { data, at }: ActivityEvent & { kind: 'session.started' },
  late: boolean,
): void {
  const { row, track } = draft.session
  const { project = null, model, continues } = data
  const moves = project !== null && (track.project === null || !late)
  draft.session = {
    row: {
      ...row,
      ...defined({ model, continues }),
      project_id: moves ? (draft.projects.get(project) ?? null) : row.project_id,
      started_at: at < row.started_at ? at : row.started_at,
    },
    track: { ...track, project: moves ? project : track.project },
  }
}

function foldRequest(
  draft: Draft,
  event: ActivityEvent & { kind: 'request.started' | 'request.ended' },
): void {
  const { agent_id, turn_seq, at } = event
  if (agent_id !== null) return
  if (event.kind === 'request.ended') {
    const { status, error } = event.data
    addRequest(draft, turn_seq, at, { ended_at: at, status, ...defined({ error }) })
    return
  }
  const { track } = draft.session
  const { prompt, prompt_type } = event.data
  if (track.prompted_turn === turn_seq) return
  draft.session = {
    ...draft.session,
    track: { ...track, prompted_turn: Math.max(track.prompted_turn ?? 0, turn_seq) },
  }
  addRequest(draft, turn_seq, at, defined({ prompt, prompt_type }))
}

/** Adds the row of a request. Its begin is a guess if the request's own event is missing. */
function addRequest(
  draft: Draft,
  turn: number,
  at: Timestamp,
  fields: Partial<RowLists['requests'][number]> = {},
): string {
  const request_id = requestId(draft, turn)
  const { session_id, project_id } = draft.session.row
  draft.rows.requests.push({ request_id, session_id, project_id, turn_seq: turn, started_at: at, ...fields })
  return request_id
}

/** `before` is the state before the event, in which the call runs if the event is its end. */
function addAction(
  draft: Draft,
  event: Pick<ActivityEvent, 'agent_id' | 'turn_seq' | 'at' | 'seq'> & { data: { action_id: string } },
  before: StateTrack | null,
  fields: Partial<ActionRow>,
): void {
  const { session_id, project_id } = draft.session.row
  const open = before?.tools.find(({ id }) => id === event.data.action_id)
  // A call may end in a later turn than it began.
  const turn = open?.turn ?? event.turn_seq
  const agent_id = open?.agent_id ?? event.agent_id
  const request_id = turn === 0 ? null : addRequest(draft, turn, event.at)
  if (agent_id !== null) ensureSubtask(draft, agent_id, event)
  draft.rows.actions.push({
    action_id: actionId(draft, event.data.action_id),
    session_id,
    project_id,
    request_id,
    subtask_id: agent_id === null ? null : subtaskId(draft, agent_id),
    started_at: open?.at ?? event.at,
    ...fields,
  })
}

function foldActionEnd(
  draft: Draft,
  event: ActivityEvent & { kind: 'action.ended' | 'action.failed' },
  before: StateTrack | null,
): void {
  const { at, data, client } = event
  const { tool, duration_ms, exit_code } = data
  const open = before?.tools.find(({ id }) => id === data.action_id)
  const failed = event.kind === 'action.failed'
  addAction(draft, event, before, {
    started_at: open?.at ?? new Date(Math.max(0, Date.parse(at) - (duration_ms ?? 0))).toISOString(),
    ended_at: at,
    status: failed ? (event.data.denied === true ? 'denied' : 'failed') : 'completed',
    duration_ms,
    exit_code,
    // The beginning may be missing. It knows the name of a skill or a subagent, so only a builtin or MCP tool is named here.
    ...(open === undefined && tool !== undefined ? namedByEnd(tool, client) : {}),
    ...(event.kind === 'action.failed' ? { error: event.data.error } : { output: event.data.output }),
  })
  const { track } = draft.session
  if (!track.denied_calls.includes(data.action_id)) return
  const denied_calls = track.denied_calls.filter((id) => id !== data.action_id)
  draft.session = { ...draft.session, track: { ...track, denied_calls } }
}

function namedByEnd(tool: string, client: string): Partial<ActionRow> {
  const tool_type = toolType(tool, client)
  return tool_type === 'skill' || tool_type === 'agent' ? {} : { tool_name: tool, tool_type }
}

/** Bounded like the list of running calls. */
function noteDenied(draft: Draft, action_id: string): void {
  const { track } = draft.session
  const denied_calls = [...track.denied_calls, action_id].slice(-DENIED_CALLS_MAX)
  draft.session = { ...draft.session, track: { ...track, denied_calls } }
}
const DENIED_CALLS_MAX = 256

function foldSubtaskStart(draft: Draft, event: ActivityEvent & { kind: 'subtask.started' }): void {
  const { subtask_id, agent_type, description, parent_id } = event.data
  const known = ensureSubtask(draft, subtask_id, event)
  addSubtask(draft, known, event.at, defined({ agent_type, description, parent_agent_id: parent_id }))
}

/** Adds the rows of a subagent that is not known. An event may be the first one that mentions it. */
function ensureSubtask(
  draft: Draft,
  id: string,
  { turn_seq, seq, at }: Pick<ActivityEvent, 'turn_seq' | 'seq' | 'at'>,
): KnownSubtask {
  const known = draft.session.track.subtasks.find((one) => one.id === id)
  const { track, subtask } = withSubtask(draft.session.track, id, turn_seq, seq)
  draft.session = { ...draft.session, track }
  if (known === undefined) addSubtask(draft, subtask, at)
  return subtask
}

function addSubtask(
  draft: Draft,
  { id, turn, wave }: Pick<KnownSubtask, 'id' | 'turn' | 'wave'>,
  at: Timestamp,
  fields: Partial<SubtaskRow> = {},
): void {
  const { session_id } = draft.session.row
  const task_id = addTask(draft, turn, wave, at)
  draft.rows.subtasks.push({
    subtask_id: subtaskId(draft, id),
    task_id,
    session_id,
    agent_id: id,
    started_at: at,
    ...fields,
  })
}

function addTask(
  draft: Draft,
  turn: number,
  wave: number,
  at: Timestamp,
  fields: Partial<TaskRow> = {},
): string {
  const request_id = addRequest(draft, turn, at)
  const task_id = `${request_id}.w${wave}`
  const { session_id } = draft.session.row
  draft.rows.tasks.push({ task_id, request_id, session_id, wave_number: wave, started_at: at, ...fields })
  return task_id
}

function endSubtask(
  draft: Draft,
  id: string,
  status: EndStatus,
  at: Timestamp,
  seq: number,
  result?: SubtaskRow['result'],
): void {
  const known = draft.session.track.subtasks.find((one) => one.id === id)
  if (known === undefined) return
  const { track, ended } = withoutSubtask(draft.session.track, id, status, seq)
  draft.session = { ...draft.session, track }
  addSubtask(draft, known, at, { ended_at: at, status, ...defined({ result }) })
  if (ended !== null) addTask(draft, ended.turn, ended.wave, at, { ended_at: at, status: ended.status })
}

function foldUsage(draft: Draft, { agent_id, at, data }: ActivityEvent & { kind: 'usage' }): void {
  const { row, track } = draft.session
  draft.rows.usage.push({
    session_id: row.session_id,
    usage_id: data.usage_id,
    at,
    input_tokens: data.input_tokens ?? 0,
    output_tokens: data.output_tokens ?? 0,
    cache_read_tokens: data.cache_read_tokens ?? 0,
    cache_write_tokens: data.cache_write_tokens ?? 0,
    cost_usd: data.cost_usd ?? null,
  })
  // Subagents have contexts of their own, and often other models.
  if (agent_id !== null) return
  const { model, context_tokens, context_window } = data
  draft.session = { row: { ...row, ...defined({ model, context_tokens, context_window }) }, track }
}

/**
 * Ends rows that the event ended without an end of their own: a turn that was followed by another one, calls and subagents
 * of an interrupted turn or an ended session.
 */
function closeLost(
  draft: Draft,
  before: StateTrack,
  event: Pick<ActivityEvent, 'kind' | 'at' | 'seq'> & Partial<ActivityEvent>,
): void {
  const after = draft.session.track.state
  // A full list loses its oldest entry, which still runs.
  const evicts = event.kind === 'action.started' || event.kind === 'subtask.started'
  if (after === null || after === before || evicts) return
  const { at } = event
  // The end may be among missing events, which may still come through the spool. At the end of the session it is late.
  const isLost = (seq: number) =>
    event.kind === 'session.ended' || isWhole(draft.session.track.received, seq, event.seq)
  const ended_turn = event.kind === 'request.ended' ? event.turn_seq : undefined
  const lost = before.request
  if (lost !== null && lost.turn !== after.request?.turn && lost.turn !== ended_turn && isLost(lost.seq))
    addRequest(draft, lost.turn, at, { ended_at: at, status: 'interrupted' })
  const own = new Set(ownIds(event))
  const running = new Set(after.tools.map(({ id }) => id))
  // A turn or a subagent completes only when its calls have ended; their ends were lost.
  const completed =
    (event.kind === 'request.ended' && event.data?.status === 'completed') ||
    (event.kind === 'subtask.ended' && (event.data?.status ?? 'completed') === 'completed')
  for (const tool of before.tools) {
    if (running.has(tool.id) || own.has(tool.id) || !isLost(tool.seq)) continue
    const closed = {
      agent_id: tool.agent_id,
      turn_seq: tool.turn,
      at,
      seq: event.seq,
      data: { action_id: tool.id },
    }
    addAction(draft, closed, before, { ended_at: at, status: completed ? 'completed' : 'failed' })
  }
  const remaining = new Set(after.subtasks.map(({ id }) => id))
  for (const { id, seq } of before.subtasks)
    if (!remaining.has(id) && !own.has(id) && isLost(seq)) endSubtask(draft, id, 'interrupted', at, event.seq)
}

/** The call or the subagent whose end the event is. */
function ownIds(event: Partial<ActivityEvent>): string[] {
  if (event.kind === 'action.ended' || event.kind === 'action.failed') return [event.data?.action_id ?? '']
  return event.kind === 'subtask.ended' ? [event.data?.subtask_id ?? ''] : []
}
