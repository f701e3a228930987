/**
 * What the state of a session is derived from: its open turn, tool calls, waits, subagents and compaction, each with the
 * number of the event that began it. It is JSON and is stored with the session.
 */
import type { CapturedText, WaitingFor } from '../../contracts/activity/event.ts'
import type { Evidence, SessionStateName } from '../../contracts/activity/session-state.ts'
import type { ToolType } from '../../contracts/activity/views.ts'
import type { Timestamp } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { truncate } from '../../contracts/text/truncate.ts'

/** Something that began with event `seq` in turn `turn`, and whose end was not reported. */
interface Open {
  id: string
  /** The subagent to which it belongs; null for the main agent. */
  agent_id: string | null
  turn: number
  seq: number
  at: Timestamp
}
export interface OpenTool extends Open {
  name: string
  type: ToolType
}
export interface OpenWait extends Open {
  for: WaitingFor
  what: string | null
  until: Timestamp | null
  source: Evidence['source']
}
export interface OpenSubtask extends Open {
  agent_type: string | null
}

/** The state without what can be derived from it. */
export interface Shown {
  state: SessionStateName
  what: string | null
  waiting_for: WaitingFor | null
}

export interface StateTrack {
  /** Highest number of an event and of a turn. */
  seq: number
  turn: number
  /** Time of the newest evidence. */
  last_at: Timestamp
  /** Process of the client, with its start time. */
  pid: number | null
  pid_started: string | null
  /** Number of the event that opened the session last. */
  opened_seq: number
  /** The state without a running turn. `unknown`: nothing was reported of it. */
  base: {
    state: 'unknown' | 'idle' | 'failed' | 'ended'
    what: string | null
    seq: number
    evidence: Evidence
  }
  /** The running turn. `seq` is the number of the newest event that shows it. */
  request: { turn: number; seq: number } | null
  /** Newest turn whose end was reported. */
  ended_turn: number
  compaction: { trigger: string | null; seq: number } | null
  /** Oldest first. */
  tools: OpenTool[]
  waits: OpenWait[]
  subtasks: OpenSubtask[]
  shown: Shown & { since: Timestamp; evidence: Evidence }
  conflict: string | null
}

/** Returns the track of a session of which nothing is known. */
export function emptyTrack(evidence: Evidence): StateTrack {
  return {
    seq: 0,
    turn: 0,
    last_at: evidence.at,
    pid: null,
    pid_started: null,
    opened_seq: 0,
    base: { state: 'unknown', what: null, seq: 0, evidence },
    request: null,
    ended_turn: 0,
    compaction: null,
    tools: [],
    waits: [],
    subtasks: [],
    shown: { state: 'unknown', what: null, waiting_for: null, since: evidence.at, evidence },
    conflict: null,
  }
}

/** Appends to a bounded list; the oldest entry is removed from a full one. An entry with the same id is replaced. */
export function appended<Entry extends Open>(list: readonly Entry[], entry: Entry): Entry[] {
  return [...list.filter(({ id }) => id !== entry.id), entry].slice(-LIMITS.activity_tracked_max)
}

export function newest<Entry extends Open>(entries: readonly Entry[]): Entry | null {
  return entries.reduce<Entry | null>(
    (best, one) => (best === null || one.seq >= best.seq ? one : best),
    null,
  )
}

/** Returns what the track shows at a time. A wait with a time at which it ends is over then. */
export function shownAt(track: StateTrack, now: number): Shown {
  if (track.base.state === 'ended') return { state: 'ended', what: track.base.what, waiting_for: null }
  const wait = openWait(track, now)
  if (wait !== null) return { state: 'waiting', what: wait.what, waiting_for: wait.for }
  if (track.compaction !== null)
    return { state: 'compacting', what: track.compaction.trigger, waiting_for: null }
  const own = newest(track.tools.filter(({ agent_id }) => agent_id === null))
  if (track.request !== null || own !== null)
    return { state: 'working', what: own?.name ?? null, waiting_for: null }
  if (track.base.state === 'failed') return { state: 'failed', what: track.base.what, waiting_for: null }
  const agents = track.subtasks.map(({ id, agent_type }) => agent_type ?? id)
  const work = agents.length > 0 ? agents.join(', ') : newest(track.tools)?.name
  if (work !== undefined)
    return { state: 'working', what: truncate(work, WHAT_LENGTH_MAX), waiting_for: null }
  return { state: track.base.state, what: track.base.what, waiting_for: null }
}

export function openWait(track: StateTrack, now: number): OpenWait | null {
  return newest(track.waits.filter(({ until }) => until === null || Date.parse(until) > now))
}

export const isSame = (a: Shown, b: Shown): boolean =>
  a.state === b.state && a.what === b.what && a.waiting_for === b.waiting_for

export const later = (a: Timestamp, b: Timestamp): Timestamp => (a > b ? a : b)

const WHAT_LENGTH_MAX = 256

/** Returns the first line of a text, null if it is empty. */
export function firstLine(text: CapturedText | undefined): string | null {
  const whole = typeof text === 'string' ? text : (text?.text ?? '')
  const line = /[^\s][^\r\n]{0,1023}/.exec(whole)?.[0].trim() ?? ''
  return line === '' ? null : truncate(line, WHAT_LENGTH_MAX)
}
