/**
 * Where the turn of an agent stands that is only ever prompted by us. Pure: every function gives the next state.
 *
 * A turn is one prompt, from the moment it is sent until its answer; the agent's session has no other client.
 * What the hub knows as the session is one run of the agent, under a name of ours: a turn that breaks off ends
 * it, and what was drained in that turn goes back to the queue.
 */
import type { DoorbellId, SessionId } from '../../src/contracts/ids.ts'
import type { Turn } from '../../src/contracts/registry.ts'

export interface TrackedTurn {
  session_id: SessionId
  turn: Turn
  turn_seq: number
  /** What the prompt that runs is; null while none runs. */
  bell: DoorbellId | null
  seen_doorbell_id: DoorbellId | null
}

/** What an agent tells when it works on a prompt. Others, like its list of commands, come at any time. */
const SIGNS_OF_WORK = ['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan']

/** How a prompt may end that the agent never worked on. */
const UNREAD = ['cancelled', 'refusal']

/** Turn numbers must not go back when a killed shim is replaced, so they begin with the time. */
export function startTracking(now_ms: number, session_id: SessionId): TrackedTurn {
  return { session_id, turn: 'unknown', turn_seq: now_ms, bell: null, seen_doorbell_id: null }
}

export function agentReady(state: TrackedTurn): TrackedTurn {
  return { ...state, turn: 'idle', bell: null }
}

/** `next` is the name of the run that will follow. */
export function agentGone(state: TrackedTurn, next: SessionId): TrackedTurn {
  return { ...state, session_id: next, turn: 'unknown', bell: null }
}

/** An agent has opened its session. */
export function isThere({ turn }: TrackedTurn): boolean {
  return turn !== 'unknown'
}

export function promptSent(state: TrackedTurn, bell: DoorbellId): TrackedTurn {
  return { ...state, turn: 'busy', turn_seq: state.turn_seq + 1, bell }
}

export function updated(state: TrackedTurn, kind: string): TrackedTurn {
  return SIGNS_OF_WORK.includes(kind) ? seen(state) : state
}

export function promptEnded(state: TrackedTurn, stop_reason: string): TrackedTurn {
  return { ...(UNREAD.includes(stop_reason) ? state : seen(state)), turn: 'idle', bell: null }
}

function seen(state: TrackedTurn): TrackedTurn {
  return state.bell === null ? state : { ...state, seen_doorbell_id: state.bell }
}
