/**
 * Derives the state of a session from its events: one pure reducer.
 *
 * An end with number `seq` ends what began before `seq`, whenever it arrives. A beginning counts only if it is not late:
 * an event is late if a higher number, or of the main agent a later turn, was applied before. So a late event can complete
 * what is known and end a state, but never begins one.
 */
import type { ActivityData, ActivityEvent, ActivityKind } from '../../contracts/activity/event.ts'
import type { Evidence, SessionState } from '../../contracts/activity/session-state.ts'
import type { Timestamp } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import {
  appended,
  emptyTrack,
  firstLine,
  isSame,
  later,
  openWait,
  shownAt,
  type StateTrack,
} from './state-track.ts'
import { effectiveName, toolType } from './tool-names.ts'

type EventOf<Kind extends ActivityKind> = Omit<ActivityEvent, 'kind' | 'data'> & {
  kind: Kind
  data: ActivityData<Kind>
}
interface Applied<Kind extends ActivityKind> {
  /** A shallow copy, which is changed. */
  track: StateTrack
  event: EventOf<Kind>
  late: boolean
  /** Effective name of the tool, if it is known without the input. */
  tool: string | undefined
}

/**
 * Returns the track after an event. Each event is applied once. `tool` is the effective name of a call whose input was
 * removed from the event.
 */
export function applyEvent(before: StateTrack | null, event: ActivityEvent, tool?: string): StateTrack {
  const evidence: Evidence = { source: event.source, kind: event.kind, at: event.at }
  const track = { ...(before ?? emptyTrack(evidence)) }
  const ofSession = event.kind === 'session.started' || event.kind === 'session.ended'
  const late =
    event.seq <= track.seq || (!ofSession && event.agent_id === null && event.turn_seq < track.turn)
  if (!late) {
    track.last_at = later(track.last_at, event.at)
    const at = Date.parse(track.last_at)
    track.waits = track.waits.filter(({ until }) => until === null || Date.parse(until) > at)
  }
  const apply = APPLY[event.kind] as ((change: Applied<ActivityKind>) => void) | undefined
  apply?.({ track, event: event, late, tool })
  track.seq = Math.max(track.seq, event.seq)
  track.turn = Math.max(track.turn, event.turn_seq)
  return withShown(track, evidence, late)
}

/** Returns the track after the end of the client's process, or after a person's statement that the session has ended. */
export function processEnded(
  before: StateTrack,
  at: Timestamp,
  source: 'process' | 'person' = 'process',
): StateTrack {
  if (before.base.state === 'ended') return before
  const evidence: Evidence = { source, kind: null, at: later(before.last_at, at) }
  const running = source === 'process' ? before.request : null
  const track = withoutWork({
    ...before,
    base: { state: 'ended', what: null, seq: before.seq, evidence },
    conflict: running === null ? null : `The process ended while turn ${running.turn} was running.`,
  })
  return withShown(track, evidence, false)
}

/** Returns the state at a time. */
export function stateOf(track: StateTrack, now: number): SessionState {
  const shown = shownAt(track, now)
  const { conflict } = track
  const wait = shown.state === 'waiting' ? openWait(track, now) : null
  if (wait !== null) {
    const evidence: Evidence = { source: wait.source, kind: 'waiting.started', at: wait.at }
    return { ...shown, since: wait.at, evidence, conflict }
  }
  // A wait may have ended by time only.
  const expired = track.waits.flatMap(({ until }) =>
    until !== null && Date.parse(until) <= now ? [until] : [],
  )
  const changed = expired.reduce((a, b) => later(a, b), track.shown.since)
  const busy = shown.state === 'working' || shown.state === 'compacting'
  if (busy) {
    const quiet = expired.reduce((a, b) => later(a, b), track.last_at)
    const silent = Date.parse(quiet) + LIMITS.activity_unknown_ms
    if (now >= silent) {
      const evidence: Evidence = { source: 'clock', kind: null, at: quiet }
      return { ...shown, state: 'unknown', since: new Date(silent).toISOString(), evidence, conflict }
    }
  }
  if (isSame(shown, track.shown)) {
    const { since, evidence } = track.shown
    return { ...shown, since, evidence, conflict }
  }
  const evidence: Evidence = busy ? { source: 'clock', kind: null, at: changed } : track.base.evidence
  return { ...shown, since: changed, evidence, conflict }
}

/** Notes since when the track shows its state, and by which evidence. */
function withShown(track: StateTrack, evidence: Evidence, late: boolean): StateTrack {
  // Without a time, a wait that ends by itself is still open.
  const shown = shownAt(track, -Infinity)
  if (isSame(shown, track.shown)) {
    const renewed = !late && (shown.state === 'working' || shown.state === 'compacting')
    return renewed ? { ...track, shown: { ...track.shown, evidence } } : track
  }
  return { ...track, shown: { ...shown, since: later(track.shown.since, evidence.at), evidence } }
}

function withoutWork(track: StateTrack): StateTrack {
  return { ...track, request: null, compaction: null, tools: [], waits: [], subtasks: [] }
}

const APPLY: { readonly [Kind in ActivityKind]?: (change: Applied<Kind>) => void } = {
  'session.started': sessionStarted,
  'session.ended': sessionEnded,
  'request.started': requestStarted,
  'request.ended': requestEnded,
  'action.started': actionStarted,
  'action.ended': actionEnded,
  'action.failed': actionEnded,
  'subtask.started'({ track, event: { data, turn_seq, seq, at }, late }) {
    if (late || track.base.state === 'ended') return
    const { subtask_id: id, agent_type = null, parent_id = null } = data
    track.subtasks = appended(track.subtasks, {
      id,
      agent_id: parent_id,
      turn: turn_seq,
      seq,
      at,
      agent_type,
    })
  },
  'subtask.ended'({ track, event: { data, seq } }) {
    removeSubtasks(track, (one) => one.id === data.subtask_id && one.seq < seq)
    const ofAgent = (one: { agent_id: string | null; seq: number }) =>
      one.agent_id === data.subtask_id && one.seq < seq
    track.tools = track.tools.filter((tool) => !ofAgent(tool))
    track.waits = track.waits.filter((wait) => !ofAgent(wait))
  },
  'waiting.started': waitingStarted,
  'waiting.ended'({ track, event: { data, seq } }) {
    track.waits = track.waits.filter((wait) => wait.id !== data.waiting_id || wait.seq > seq)
  },
  'compaction.started'({ track, event: { agent_id, data, seq }, late }) {
    if (late || agent_id !== null || track.base.state === 'ended') return
    track.compaction = { trigger: data.trigger ?? null, seq }
  },
  'compaction.ended'({ track, event: { agent_id, seq } }) {
    if (agent_id === null) endCompaction(track, seq)
  },
}

function sessionStarted({ track, event, late }: Applied<'session.started'>): void {
  const { reason, pid = null, pid_started = null } = event.data
  if (late) {
    if (track.pid === null) Object.assign(track, { pid, pid_started })
    return
  }
  const open = track.base.state !== 'ended'
  const sameProcess = pid !== null && pid === track.pid && pid_started === track.pid_started
  // The end of a process is noticed late, and another process may have continued the session before.
  if (!isAfterEnd(track, event.at) && (pid === null || sameProcess)) return
  const continues = open && (reason === 'clear' || reason === 'compact' || sameProcess)
  endCompaction(track, event.seq)
  if (!continues) {
    const running = open ? track.request : null
    const otherProcess = open && reason === 'resume' && pid !== null && track.pid !== null && !sameProcess
    track.conflict = otherProcess
      ? `Process ${pid} continues the session, but process ${track.pid} has not ended.`
      : running === null
        ? null
        : `The session started again while turn ${running.turn} was running.`
    Object.assign(track, withoutWork(track))
    // A client may number the turns of a resumed session from the beginning again.
    track.turn = event.turn_seq
    track.ended_turn = Math.min(track.ended_turn, event.turn_seq)
  }
  if (!continues || track.base.state === 'unknown') setBase(track, event, 'idle', null)
  track.opened_seq = event.seq
  if (pid !== null || !continues) Object.assign(track, { pid, pid_started })
}

function sessionEnded({ track, event }: Applied<'session.ended'>): void {
  if (event.seq < track.opened_seq) return
  setBase(track, event, 'ended', event.data.reason ?? null)
  Object.assign(track, withoutWork(track))
  track.conflict = null
}

function requestStarted({ track, event, late }: Applied<'request.started'>): void {
  const { turn_seq, seq, agent_id } = event
  if (late || agent_id !== null || !isAfterEnd(track, event.at)) return
  const { request } = track
  // A prompt that is typed during a turn belongs to it.
  if (request?.turn === turn_seq && track.base.state !== 'ended') {
    track.request = { turn: turn_seq, seq }
    return
  }
  track.conflict =
    track.base.state === 'ended'
      ? `Turn ${turn_seq} started after the end of the session.`
      : request === null
        ? null
        : `Turn ${turn_seq} started, but the end of turn ${request.turn} was not reported.`
  if (track.base.state === 'ended') track.opened_seq = seq
  dropTurns(track, turn_seq - 1, seq)
  endCompaction(track, seq)
  setBase(track, event, 'idle', null)
  track.request = { turn: turn_seq, seq }
}

function requestEnded({ track, event, late }: Applied<'request.ended'>): void {
  const { turn_seq, seq, agent_id, data } = event
  if (agent_id !== null) return
  if (data.status === 'interrupted') dropForegroundAgents(track, turn_seq, seq)
  dropTurns(track, turn_seq, seq)
  endCompaction(track, seq)
  track.ended_turn = Math.max(track.ended_turn, turn_seq)
  if (!late) track.conflict = null
  const { request } = track
  if (request !== null && (request.turn > turn_seq || request.seq > seq)) return
  track.request = null
  track.conflict = null
  if (track.base.state === 'ended' || track.base.seq > seq) return
  const failed = data.status === 'failed'
  const why = failed ? (firstLine(data.error) ?? data.reason ?? null) : null
  setBase(track, event, failed ? 'failed' : 'idle', why)
}

function actionStarted({ track, event, late, tool }: Applied<'action.started'>): void {
  if (late) return
  const { agent_id, turn_seq, seq, at, data, client } = event
  if (track.base.state === 'ended') {
    if (isAfterEnd(track, at)) track.conflict = `The tool ${data.tool} started after the end of the session.`
    return
  }
  if (agent_id === null) {
    if (turn_seq > 0 && turn_seq <= track.ended_turn && track.request === null)
      track.conflict = `The tool ${data.tool} started after the end of turn ${turn_seq}.`
    showTurn(track, turn_seq, seq)
    endCompaction(track, seq)
  }
  const type = toolType(data.tool, client)
  const name = tool ?? effectiveName(data.tool, type, data.input)
  track.tools = appended(track.tools, { id: data.action_id, agent_id, turn: turn_seq, seq, at, name, type })
}

function actionEnded({ track, event, late }: Applied<'action.ended' | 'action.failed'>): void {
  const { agent_id, turn_seq, seq, data } = event
  track.tools = track.tools.filter(({ id, seq: began }) => id !== data.action_id || began > seq)
  // A permission is asked for with the id of the call.
  track.waits = track.waits.filter(({ id, seq: began }) => id !== data.action_id || began > seq)
  if (late || agent_id !== null || track.base.state === 'ended') return
  // The beginning of the turn may be missing.
  if (track.request === null && turn_seq > track.ended_turn) showTurn(track, turn_seq, seq)
}

function waitingStarted({ track, event, late }: Applied<'waiting.started'>): void {
  if (late || track.base.state === 'ended') return
  const { agent_id, turn_seq, seq, at, source, data } = event
  const ofTurn = data.for === 'permission' || data.for === 'question' || data.for === 'plan'
  if (agent_id === null && ofTurn) {
    const over = track.request === null && turn_seq <= track.ended_turn
    // A client may report a wait of a subagent as one of the session.
    if (over && track.tools.length === 0 && track.subtasks.length === 0) {
      track.conflict = `A wait for ${WAITS[data.for]} was reported after the end of turn ${turn_seq}.`
      return
    }
    if (!over) showTurn(track, turn_seq, seq)
  }
  const tool = track.tools.find(({ id }) => id === data.waiting_id)
  track.waits = appended(track.waits, {
    id: data.waiting_id,
    agent_id,
    turn: turn_seq,
    seq,
    at,
    source,
    for: data.for,
    what: data.what ?? tool?.name ?? null,
    until: data.until ?? null,
  })
}

const WAITS: Readonly<Record<string, string>> = {
  permission: 'permission',
  question: 'an answer',
  plan: 'approval of a plan',
}

/** Notes that the main agent works in a turn. The beginning of the turn may be missing. */
function showTurn(track: StateTrack, turn: number, seq: number): void {
  if (turn === 0) return
  if (track.request?.turn !== turn) dropTurns(track, turn - 1, seq)
  if (track.base.state === 'failed') track.base = { ...track.base, state: 'idle', what: null }
  track.request = { turn, seq }
}

/** Removes calls and waits of the main agent that began before `seq`, in turns up to `turn`. */
function dropTurns(track: StateTrack, turn: number, seq: number): void {
  const over = (one: { agent_id: string | null; turn: number; seq: number }) =>
    one.agent_id === null && one.turn <= turn && one.seq < seq
  track.tools = track.tools.filter((tool) => !over(tool))
  track.waits = track.waits.filter((wait) => !over(wait))
}

/** Removes the subagents for which a call of the main agent still waits: an interruption ends them, too. */
function dropForegroundAgents(track: StateTrack, turn: number, seq: number): void {
  const calls = track.tools.filter(
    (tool) => tool.agent_id === null && tool.turn === turn && tool.type === 'agent' && tool.seq < seq,
  )
  if (calls.length === 0) return
  const first = Math.min(...calls.map((call) => call.seq))
  removeSubtasks(track, (one) => one.turn === turn && one.seq > first && one.seq < seq)
}

function removeSubtasks(track: StateTrack, isOver: (one: StateTrack['subtasks'][number]) => boolean): void {
  const over = new Set(track.subtasks.filter(isOver).map(({ id }) => id))
  if (over.size === 0) return
  track.subtasks = track.subtasks.filter(({ id }) => !over.has(id))
  const remains = ({ agent_id }: { agent_id: string | null }) => agent_id === null || !over.has(agent_id)
  track.tools = track.tools.filter(remains)
  track.waits = track.waits.filter(remains)
}

function endCompaction(track: StateTrack, seq: number): void {
  if (track.compaction !== null && track.compaction.seq < seq) track.compaction = null
}

function setBase(
  track: StateTrack,
  event: Pick<ActivityEvent, 'seq' | 'source' | 'kind' | 'at'>,
  state: StateTrack['base']['state'],
  what: string | null,
): void {
  const { seq, source, kind, at } = event
  track.base = { state, what, seq, evidence: { source, kind, at } }
}

/** Whether an event can open an ended session again. Events of a process that has ended may arrive after its end. */
function isAfterEnd(track: StateTrack, at: Timestamp): boolean {
  const { state, evidence } = track.base
  return state !== 'ended' || evidence.kind !== null || at > evidence.at
}
