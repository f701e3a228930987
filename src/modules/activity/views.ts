/** Builds what the facade returns from the rows of the store: adds states, and assembles the tree. */
import type { SessionState } from '../../contracts/activity/session-state.ts'
import { SessionStateName } from '../../contracts/activity/session-state.ts'
import type {
  ActionActivity,
  ActiveAgents,
  Completeness,
  Hierarchy,
  RequestActivity,
  SessionActivity,
  SubtaskActivity,
  TaskActivity,
} from '../../contracts/activity/views.ts'
import type { Timestamp } from '../../contracts/ids.ts'
import type { SessionListed, SessionRow, TreeRows } from '../../ports/activity-store.ts'
import { groupBy } from '../lib/group-by.ts'
import { missingRanges } from './received.ts'
import { stateOf } from './session-state.ts'
import { readTrack, type SessionTrack } from './session-track.ts'

/** Returns the state of a session. A session without events is unknown since it was stored. */
export function stateOfTrack({ state }: SessionTrack, since: Timestamp, now: number): SessionState {
  if (state !== null) return stateOf(state, now)
  return {
    state: 'unknown',
    what: null,
    waiting_for: null,
    since,
    evidence: { source: 'clock', kind: null, at: since },
    conflict: null,
  }
}

export function withState({ track, ...session }: SessionListed, now: number): SessionActivity {
  return { ...session, state: stateOfTrack(readTrack(track), session.started_at, now) }
}

export function activeAgents(rows: readonly SessionRow[], now: number): ActiveAgents {
  const items = rows.map(({ session_id, identity, client, project_id, started_at, track: stored }) => {
    const track = readTrack(stored)
    const subtasks = (track.state?.subtasks ?? []).map(({ id, agent_type, at }) => ({
      subtask_id: `${session_id}.${id}`,
      agent_id: id,
      agent_type,
      started_at: at,
    }))
    const state = stateOfTrack(track, started_at, now)
    return { session_id, identity, client, project_id, state, subtasks }
  })
  const totals = Object.fromEntries(
    SessionStateName.options.map((name) => [name, 0]),
  ) as ActiveAgents['totals']
  for (const { state } of items) totals[state.state] += 1
  return { items, totals }
}

/** Adds up the completeness of sessions. The ranges of all sessions are listed one after the other. */
export function completenessOf(
  sessions: readonly { ended_at: Timestamp | null; last_at?: Timestamp; track: SessionTrack }[],
): Completeness {
  const sum: Completeness = { received: 0, missing: [], spooled: 0, dropped: 0, silent_since: null }
  for (const { ended_at, last_at, track } of sessions) {
    sum.received += track.events
    sum.spooled += track.spooled
    sum.dropped += track.dropped
    if (sum.missing.length < MISSING_MAX) sum.missing.push(...missingRanges(track.received))
    const event_at = last_at ?? track.state?.last_at ?? null
    if (ended_at === null && event_at !== null && event_at > (sum.silent_since ?? ''))
      sum.silent_since = event_at
  }
  return { ...sum, missing: sum.missing.slice(0, MISSING_MAX) }
}
const MISSING_MAX = 1_000

/** Assembles the tree, oldest first. An action whose subagent is not among the rows is listed with its request. */
export function hierarchyOf(rows: TreeRows, now: number): Hierarchy {
  const tasks = groupBy(byStart(rows.tasks), (task) => task.request_id)
  const subtasks = groupBy(byStart(rows.subtasks), (subtask) => subtask.task_id)
  const known = new Set(rows.subtasks.map(({ subtask_id }) => subtask_id))
  const ofAgent = (action: ActionActivity) => action.subtask_id !== null && known.has(action.subtask_id)
  const actions = newestLast(rows.actions)
  const byAgent = groupBy(actions.filter(ofAgent), (action) => action.subtask_id ?? '')
  const byRequest = groupBy(
    actions.filter((action) => !ofAgent(action)),
    (action) => action.request_id ?? '',
  )
  const requests = groupBy(newestLast(rows.requests), (request) => request.session_id)

  const subtaskNode = (subtask: SubtaskActivity) => {
    const { subtask_id, agent_id, agent_type, parent_agent_id, description, status, started_at, ended_at } =
      subtask
    const own = (byAgent.get(subtask_id) ?? []).map(actionNode)
    return {
      ...{ subtask_id, agent_id, agent_type, parent_agent_id, description, status, started_at, ended_at },
      actions: own,
    }
  }
  const taskNode = ({ task_id, wave_number, status }: TaskActivity) => ({
    ...{ task_id, wave_number, status },
    subtasks: (subtasks.get(task_id) ?? []).map(subtaskNode),
  })
  const requestNode = (request: RequestActivity) => {
    const { request_id, turn_seq, prompt, prompt_type, status, started_at, ended_at } = request
    return {
      ...{ request_id, turn_seq, prompt, prompt_type, status, started_at, ended_at },
      actions: (byRequest.get(request_id) ?? []).map(actionNode),
      tasks: (tasks.get(request_id) ?? []).map(taskNode),
    }
  }
  return {
    project: rows.project,
    sessions: newestLast(rows.sessions).map((session) => {
      const { session_id, identity, client, started_at, ended_at, track } = session
      return {
        ...{ session_id, identity, client, started_at, ended_at },
        state: stateOfTrack(readTrack(track), started_at, now),
        requests: (requests.get(session_id) ?? []).map(requestNode),
      }
    }),
    truncated: rows.truncated,
  }
}

function actionNode(action: ActionActivity) {
  const { action_id, tool_name, tool_type, status, duration_ms, started_at, ended_at } = action
  return { action_id, tool_name, tool_type, status, duration_ms, started_at, ended_at }
}

/** The store returns the newest first. */
function newestLast<Row extends { started_at: Timestamp }>(rows: readonly Row[]): Row[] {
  return byStart(rows.toReversed())
}

/** Rows with the same time keep their order. */
function byStart<Row extends { started_at: Timestamp }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (a.started_at < b.started_at ? -1 : a.started_at > b.started_at ? 1 : 0))
}
