/**
 * What is recorded of one Claude Code session, whichever way reports it: its begin, its requests, and the subagents, whose
 * events belong to the request that started them.
 */
import type { ActivityLog, Occurrence } from '../../activity/activity-log.ts'
import type { Captured } from '../../activity/captured.ts'
import { given } from '../mod/fields.ts'
import type { ActivityData, ActivitySource, EndStatus } from '../../../src/contracts/activity/event.ts'
import type { SessionId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

/** When and in which subagent something happened. */
export interface Happened {
  source: Extract<ActivitySource, 'hook' | 'mod'>
  at?: string | undefined
  agent?: string | undefined
}

export interface RecordedSessionDeps {
  log: Pick<ActivityLog, 'record' | 'missed' | 'isKnown'>
  /** Working directory, if the client reports none. */
  project: string
  /** The client's process. */
  pid: number
  pid_started: string | null
  /** This process replaced a killed one, which has reported the session's begin. */
  respawned: boolean
}

interface Place {
  session_id: SessionId
  turn_seq: number
}

export interface EndedRequest {
  /** Undefined if the client does not report it. */
  request_id: string | undefined
  /** Default: the last request of the session. */
  place?: Place | undefined
}
/** A running request of the main agent. */
export interface OpenRequest extends EndedRequest {
  place: Place
  source: Happened['source']
}
interface Agent {
  parent: string | undefined
  place: Place | undefined
}

export type RecordedSession = ReturnType<typeof recordedSession>

export function recordedSession({ log, project, pid, pid_started, respawned }: RecordedSessionDeps) {
  let session_id: SessionId | null = null
  let open: OpenRequest | null = null
  /** Subagents, oldest first, and where their events belong. */
  const agents = new Map<string, Agent>()
  const agentOf = (agent: string): Agent => agents.get(agent) ?? { parent: undefined, place: undefined }
  let may_be_known = respawned

  function record(fact: Captured, { source, at, agent }: Happened, place?: Place): number {
    const of = place ?? (agent === undefined ? undefined : agentOf(agent).place)
    const session = of?.session_id ?? session_id
    if (session === null) return 0
    const occurrence: Occurrence = { session_id: session, source, ...given({ at }) }
    return log.record(fact, { ...occurrence, agent_id: agent, turn_seq: of?.turn_seq })
  }

  function end(happened: Happened, reason?: string): void {
    if (session_id === null) return
    record({ kind: 'session.ended', data: given({ reason }) }, happened)
    session_id = null
    open = null
  }

  return {
    id: () => session_id,
    open: () => open,
    record,
    end,
    missed: (events: number) => void (session_id !== null && log.missed(session_id, events)),

    /** The session is or becomes this one. Does nothing if its begin was recorded. */
    start(
      id: SessionId,
      happened: Happened,
      more: { reason?: string | undefined; cwd?: string | undefined } = {},
    ): void {
      if (id === '' || id === session_id) return
      const former = session_id
      end(happened, more.reason)
      session_id = id
      const is_known = may_be_known && log.isKnown(id)
      may_be_known = false
      if (is_known) return
      const { reason, cwd = project } = more
      // A cleared conversation goes on in the next session. A resumed session existed before.
      const continues = reason === 'clear' ? (former ?? undefined) : undefined
      const about = given({ reason, continues, pid_started: pid_started ?? undefined })
      record({ kind: 'session.started', data: { project: cwd, pid, ...about } }, happened)
    },

    begin(data: ActivityData<'request.started'>, happened: Happened): void {
      if (session_id === null) return
      const turn_seq = record({ kind: 'request.started', data }, happened)
      open = { place: { session_id, turn_seq }, request_id: data.request_id, source: happened.source }
    },

    /** Ends this request, which may not be the open one. */
    endRequest(
      { request_id, place }: EndedRequest,
      happened: Happened,
      status: EndStatus,
      reason?: string,
    ): void {
      record({ kind: 'request.ended', data: { status, ...given({ request_id, reason }) } }, happened, place)
      if (open?.place === place) open = null
    },

    agent: agentOf,

    /** Later events of the subagent belong to the request in which it, or its parent, was started. */
    agentStarted(agent: string, parent: string | undefined, turn_seq: number): void {
      if (agents.has(agent) || session_id === null) return
      const place = parent === undefined ? undefined : agentOf(parent).place
      agents.set(agent, { parent, place: place ?? { session_id, turn_seq } })
      const oldest = agents.keys().next().value
      if (agents.size > LIMITS.activity_tracked_max && oldest !== undefined) agents.delete(oldest)
    },
  }
}

/** Shortens a client's word to the length that a report may contain. */
export function word(text: string): string
export function word(text: string | undefined): string | undefined
export function word(text: string | undefined): string | undefined {
  return text?.slice(0, WORD_MAX)
}

const WORD_MAX = 256
