/**
 * Where one Codex thread's turn stands, from what its app-server tells, or its hooks where no app-server
 * that we reach holds it. Pure: every function gives the next state.
 */
import type { Notification, Thread } from './protocol.ts'
import type { ToldThread } from './thread-choice.ts'
import type { ThreadNews } from '../../src/contracts/codex.ts'
import { shortBellId } from '../../src/contracts/doorbell.ts'
import { DoorbellId, type Identity } from '../../src/contracts/ids.ts'
import type { Turn } from '../../src/contracts/registry.ts'

export interface TrackedThread {
  /** Null while no thread is bound. */
  thread_id: string | null
  turn: Turn
  /** Grows with every turn that begins, also across threads. */
  turn_seq: number
  /**
   * The person interrupted a turn: what is queued stays in the queue until the next turn has ended, and
   * nothing may be put there meanwhile.
   */
  paused: boolean
  /** What is queued runs only when the queue is started: it is paused, and nobody is there whose turn could end. */
  stopped: boolean
  seen_doorbell_id: DoorbellId | null
  /** Bells that were queued and not yet taken into a turn. */
  queued: readonly DoorbellId[]
  /** The same of the thread that was bound before: it may come back with its app-server. */
  left: { thread_id: string; queued: readonly DoorbellId[] } | null
  /** The status says idle while the turn has not said how it ended; see `statusSettled`. */
  settles: boolean
  /**
   * The number of the last turn before it was bound, while turnbell's own tools are not known to have started in it:
   * a turn that begins now may have nothing to drain with.
   */
  toolless_since: number | null
}

const UNBOUND = {
  thread_id: null,
  turn: 'unknown',
  paused: false,
  stopped: false,
  queued: [],
  settles: false,
  toolless_since: null,
} as const

/** Turn numbers must not go back when a killed shim is replaced, so they begin with the time. */
export function startTracking(now_ms: number): TrackedThread {
  return { ...UNBOUND, turn_seq: now_ms, seen_doorbell_id: null, left: null }
}

export function bound(state: TrackedThread, thread: Thread): TrackedThread {
  return {
    ...state,
    ...UNBOUND,
    thread_id: thread.id,
    ...(thread.status?.type === 'active' ? turnBegun({ ...state, turn: 'idle' }) : { turn: 'idle' as const }),
    queued: queuedIn(state, thread.id),
    toolless_since: state.turn_seq,
  }
}

/** The app-server outlives a connection, and its queue outlives it. */
function queuedIn({ thread_id, queued, left }: TrackedThread, wanted: string): readonly DoorbellId[] {
  if (thread_id === wanted) return queued
  return left?.thread_id === wanted ? left.queued : []
}

/**
 * Its tools have started, or will not: it is rung all the same. The end of a turn that was told as `unknown` was no
 * boundary for the daemon; this is.
 */
export function toolsCame(state: TrackedThread): TrackedThread {
  const { turn, turn_seq, toolless_since } = state
  const ended = toolless_since !== null && turn === 'idle' && turn_seq > toolless_since
  return { ...state, toolless_since: null, turn_seq: ended ? turn_seq + 1 : turn_seq }
}

/** What the daemon is told of the turn. */
export function turnOf({ turn, toolless_since }: TrackedThread): Turn {
  return turn === 'idle' && toolless_since !== null ? 'unknown' : turn
}

/** Held by a process that we do not reach: what its hooks told stands. */
export function boundByHooks(state: TrackedThread, { thread_id, turn, paused }: ToldThread): TrackedThread {
  const begun = turn === 'busy' ? turnBegun({ ...state, turn: 'idle' }) : { turn }
  return { ...state, ...UNBOUND, ...begun, thread_id, paused, queued: queuedIn(state, thread_id) }
}

/** What the bound thread's own hooks tell. */
export function hooked(state: TrackedThread, { event, bell }: ThreadNews): TrackedThread {
  switch (event) {
    case 'SessionStart':
      return { ...state, ...turnBegun(state) }
    case 'UserPromptSubmit': {
      const begun = { ...state, ...turnBegun(state) }
      const seen = state.queued.find((doorbell_id) => shortBellId(doorbell_id) === bell)
      return seen === undefined ? begun : bellSeen(begun, seen)
    }
    case 'Stop':
      return { ...state, turn: 'idle', paused: false, stopped: false }
    case 'Interrupt':
      return { ...state, turn: 'idle', paused: true, stopped: false }
    case 'SessionEnd':
      return unbound(state)
    case 'Drain':
    case 'ToolCall':
      return state
  }
}

/** The app-server is gone, or the thread with it. */
export function unbound(state: TrackedThread): TrackedThread {
  const { thread_id, queued } = state
  return { ...state, ...UNBOUND, ...(thread_id !== null && { left: { thread_id, queued } }) }
}

export function notified(
  state: TrackedThread,
  { method, params }: Notification,
  identity: Identity,
): TrackedThread {
  if (method === 'thread/started' || params.threadId !== state.thread_id) return state
  switch (method) {
    case 'thread/status/changed':
      return statusSaid(state, params.status.type)
    case 'turn/started':
      return { ...state, ...turnBegun(state), settles: false }
    case 'turn/completed':
      return {
        ...state,
        ...{ turn: 'idle', settles: false },
        ...{ paused: params.turn.status === 'interrupted', stopped: false },
      }
    case 'item/started': {
      const doorbell_id = params.item.type === 'userMessage' ? bellIn(params.item.clientId, identity) : null
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
 * Whoever interrupted is gone. For the daemon that is a boundary: what it held back may ring. For the hub it is none, as no
 * turn has shown that the agent read what it drained: a number that is not the next one makes it count anew.
 */
export function pauseLeft(state: TrackedThread): TrackedThread {
  return state.paused ? { ...state, paused: false, stopped: true, turn_seq: state.turn_seq + 2 } : state
}

/** What was put into the queue of an idle thread stands there still. */
export function queueStopped(state: TrackedThread): TrackedThread {
  return { ...state, stopped: true }
}

export function queueStarted(state: TrackedThread): TrackedThread {
  return { ...state, stopped: false }
}

/** These are certainly not in the queue any more, and no turn has begun with them. */
export function bellsGone(state: TrackedThread, gone: readonly DoorbellId[]): TrackedThread {
  return { ...state, queued: state.queued.filter((doorbell_id) => !gone.includes(doorbell_id)) }
}

/** These are in the queue, whoever put them there. */
export function bellsFound(state: TrackedThread, found: readonly DoorbellId[]): TrackedThread {
  const unknown = found.filter((doorbell_id) => !state.queued.includes(doorbell_id))
  return unknown.length === 0 ? state : { ...state, queued: [...unknown, ...state.queued] }
}

/**
 * A turn's end is told twice: by the status and, a moment later, by the turn itself, which alone says
 * whether it was interrupted. The status counts where the turn says nothing.
 */
function statusSaid(state: TrackedThread, status: string): TrackedThread {
  if (status === 'active') return { ...state, ...turnBegun(state), settles: false }
  const ended = status === 'idle' || status === 'systemError'
  if (!ended) return { ...state, turn: 'unknown', settles: false }
  return state.turn === 'busy' ? { ...state, settles: true } : { ...state, turn: 'idle' }
}

/** The turn has had its time to say how it ended. */
export function statusSettled(state: TrackedThread): TrackedThread {
  return state.settles ? { ...state, turn: 'idle', settles: false } : state
}

function turnBegun({ turn, turn_seq }: Pick<TrackedThread, 'turn' | 'turn_seq'>) {
  return { turn: 'busy' as const, turn_seq: turn === 'busy' ? turn_seq : turn_seq + 1 }
}

// --- the name under which a bell is queued

export function bellName(identity: Identity, doorbell_id: DoorbellId): string {
  return `turnbell:${identity}:${doorbell_id}`
}

/** The bell that a queued or shown message is; null for what others sent: the daemon takes no report with what is no id. */
export function bellIn(name: string | null | undefined, identity: Identity): DoorbellId | null {
  const prefix = `turnbell:${identity}:`
  return name?.startsWith(prefix) === true
    ? (DoorbellId.safeParse(name.slice(prefix.length)).data ?? null)
    : null
}
