/**
 * Tracks the turn of one Codex thread from its app-server's notifications, or from its hooks if no reachable
 * app-server holds it. Pure: every function returns the next state.
 */
import type { Notification, Thread } from './protocol.ts'
import type { ReportedThread } from './thread-choice.ts'
import type { ThreadNews } from '../../src/contracts/clients/codex.ts'
import { shortBellId } from '../../src/contracts/doorbell.ts'
import { DoorbellId, type Identity } from '../../src/contracts/ids.ts'
import type { Turn } from '../../src/contracts/registry.ts'
import { beginTurn, initialTurn, type TurnState } from '../turn-tracker.ts'

export interface TrackedThread extends TurnState {
  /** Null while no thread is bound. */
  thread_id: string | null
  /**
   * The person interrupted a turn. Queued messages stay in the queue until the next turn has ended, and no doorbell
   * may be added before that.
   */
  paused: boolean
  /** The queue is paused and no person is present to end the pause, so it has to be started explicitly. */
  queue_stopped: boolean
  /** Doorbells that were queued and have not begun a turn. */
  queued: readonly DoorbellId[]
  /** The queued doorbells of the previously bound thread, which may come back with its app-server. */
  previous: { thread_id: string; queued: readonly DoorbellId[] } | null
  /** The status is idle and the turn has not reported how it ended; see `settle`. */
  settle_pending: boolean
  /**
   * Number of the last turn before the thread was bound; null once turnbell's tools are known to have started. Until
   * then a turn may have no tool to drain with.
   */
  tools_pending_since: number | null
}

const UNBOUND = {
  thread_id: null,
  turn: 'unknown',
  paused: false,
  queue_stopped: false,
  queued: [],
  settle_pending: false,
  tools_pending_since: null,
} as const

export function startTracking(now_ms: number): TrackedThread {
  return { ...initialTurn(now_ms), ...UNBOUND, previous: null }
}

export function bound(state: TrackedThread, thread: Thread): TrackedThread {
  const idle: TrackedThread = {
    ...state,
    ...UNBOUND,
    thread_id: thread.id,
    turn: 'idle',
    queued: queuedBells(state, thread.id),
    tools_pending_since: state.turn_seq,
  }
  return thread.status?.type === 'active' ? beginTurn(idle) : idle
}

/** Returns the doorbells that may still be queued: the app-server outlives a connection, and its queue outlives it. */
function queuedBells(
  { thread_id, queued, previous }: TrackedThread,
  wanted_id: string,
): readonly DoorbellId[] {
  if (thread_id === wanted_id) return queued
  return previous?.thread_id === wanted_id ? previous.queued : []
}

/**
 * The thread's tools have started, or failed to; it may be rung in both cases. If a turn ended while it was reported
 * as `unknown`, the daemon has seen no boundary, so this counts as one.
 */
export function toolsReady(state: TrackedThread): TrackedThread {
  const { turn, turn_seq, tools_pending_since } = state
  const ended = tools_pending_since !== null && turn === 'idle' && turn_seq > tools_pending_since
  return { ...state, tools_pending_since: null, turn_seq: ended ? turn_seq + 1 : turn_seq }
}

/** Returns the turn as it is reported to the daemon. */
export function reportedTurn({ turn, tools_pending_since }: TrackedThread): Turn {
  return turn === 'idle' && tools_pending_since !== null ? 'unknown' : turn
}

/** Binds a thread of a process that cannot be reached; its turn is the one its hooks have reported. */
export function boundByHooks(
  state: TrackedThread,
  { thread_id, turn, paused }: ReportedThread,
): TrackedThread {
  const next = { ...state, ...UNBOUND, thread_id, paused, queued: queuedBells(state, thread_id) }
  return turn === 'busy' ? beginTurn<TrackedThread>(next) : { ...next, turn }
}

/** Handles a report of the bound thread's hooks. */
export function hookReported(state: TrackedThread, { event, bell }: ThreadNews): TrackedThread {
  switch (event) {
    case 'SessionStart':
      return beginTurn(state)
    case 'UserPromptSubmit': {
      const begun = beginTurn(state)
      const seen = state.queued.find((doorbell_id) => shortBellId(doorbell_id) === bell)
      return seen === undefined ? begun : bellSeen(begun, seen)
    }
    case 'Stop':
      return { ...state, turn: 'idle', paused: false, queue_stopped: false }
    case 'Interrupt':
      return { ...state, turn: 'idle', paused: true, queue_stopped: false }
    case 'SessionEnd':
      return unbound(state)
    case 'Drain':
    case 'ToolCall':
      return state
  }
}

/** The app-server or the thread is gone. */
export function unbound(state: TrackedThread): TrackedThread {
  const { thread_id, queued } = state
  return { ...state, ...UNBOUND, ...(thread_id !== null && { previous: { thread_id, queued } }) }
}

export function notified(
  state: TrackedThread,
  { method, params }: Notification,
  identity: Identity,
): TrackedThread {
  if (method === 'thread/started' || params.threadId !== state.thread_id) return state
  switch (method) {
    case 'thread/status/changed':
      return statusChanged(state, params.status.type)
    case 'turn/started':
      return { ...beginTurn(state), settle_pending: false }
    case 'turn/completed':
      return {
        ...state,
        turn: 'idle',
        settle_pending: false,
        paused: params.turn.status === 'interrupted',
        queue_stopped: false,
      }
    case 'item/started': {
      const doorbell_id =
        params.item.type === 'userMessage' ? parseBellName(params.item.clientId, identity) : null
      return doorbell_id === null ? state : bellSeen(state, doorbell_id)
    }
    case 'thread/closed':
      return unbound(state)
    case 'item/completed':
    case 'thread/goal/cleared':
    case 'thread/goal/updated':
      return state
  }
}

export function bellQueued(state: TrackedThread, doorbell_id: DoorbellId): TrackedThread {
  return { ...state, queued: [...state.queued, doorbell_id] }
}

export function bellSeen(state: TrackedThread, doorbell_id: DoorbellId): TrackedThread {
  return { ...state, seen_doorbell_id: doorbell_id, queued: state.queued.filter((id) => id !== doorbell_id) }
}

/**
 * The person who interrupted has left. For the daemon this is a boundary: a doorbell that it held back may ring. For the
 * hub it is not, because no turn has shown that the agent read its drains: skipping a number makes the hub restart its
 * count.
 */
export function pauseEnded(state: TrackedThread): TrackedThread {
  return state.paused ? { ...state, paused: false, queue_stopped: true, turn_seq: state.turn_seq + 2 } : state
}

/** The queue of an idle thread still holds its messages, so it is paused. */
export function queueStopped(state: TrackedThread): TrackedThread {
  return { ...state, queue_stopped: true }
}

export function queueStarted(state: TrackedThread): TrackedThread {
  return { ...state, queue_stopped: false }
}

/** These doorbells are certainly no longer in the queue, and no turn has begun with them. */
export function bellsRemoved(state: TrackedThread, removed: readonly DoorbellId[]): TrackedThread {
  return { ...state, queued: state.queued.filter((doorbell_id) => !removed.includes(doorbell_id)) }
}

/** These doorbells are in the queue; another shim may have added them. */
export function bellsFound(state: TrackedThread, found_ids: readonly DoorbellId[]): TrackedThread {
  const unknown = found_ids.filter((doorbell_id) => !state.queued.includes(doorbell_id))
  return unknown.length === 0 ? state : { ...state, queued: [...unknown, ...state.queued] }
}

/**
 * The end of a turn is reported twice: by the status and, a moment later, by the turn itself, which also carries
 * whether it was interrupted. The status counts if no report of the turn follows.
 */
function statusChanged(state: TrackedThread, status: string): TrackedThread {
  if (status === 'active') return { ...beginTurn(state), settle_pending: false }
  const ended = status === 'idle' || status === 'systemError'
  if (!ended) return { ...state, turn: 'unknown', settle_pending: false }
  return state.turn === 'busy' ? { ...state, settle_pending: true } : { ...state, turn: 'idle' }
}

/** Ends the turn whose own report did not arrive in time. */
export function settle(state: TrackedThread): TrackedThread {
  return state.settle_pending ? { ...state, turn: 'idle', settle_pending: false } : state
}

// --- the client id of a queued doorbell

export function bellName(identity: Identity, doorbell_id: DoorbellId): string {
  return `turnbell:${identity}:${doorbell_id}`
}

/** Returns the doorbell of a queued or shown message; null for other messages, and for an invalid id. */
export function parseBellName(name: string | null | undefined, identity: Identity): DoorbellId | null {
  const prefix = `turnbell:${identity}:`
  return name?.startsWith(prefix) === true
    ? (DoorbellId.safeParse(name.slice(prefix.length)).data ?? null)
    : null
}
