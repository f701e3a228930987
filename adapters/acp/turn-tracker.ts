/**
 * Tracks the turn of an agent that only turnbell prompts. Pure: every function returns the next state.
 *
 * A turn is one prompt, from its sending to its answer; the agent's session has no other client. The session that
 * the hub knows is one run of the agent, under an id chosen by turnbell: a failed turn ends the run, and the signals
 * drained in that turn are released.
 */
import type { DoorbellId, SessionId } from '../../src/contracts/ids.ts'
import { beginTurn, initialTurn, type TurnState } from '../turn-tracker.ts'

export interface TrackedTurn extends TurnState {
  session_id: SessionId
  /** The doorbell of the running prompt; null while no prompt runs. */
  doorbell_id: DoorbellId | null
}

/** Updates that show work on a prompt. Others, such as the list of commands, arrive at any time. */
const WORK_UPDATES = ['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan']

/** Stop reasons of a prompt that the agent may not have read. */
const UNREAD_STOP_REASONS = ['cancelled', 'refusal']

export function startTracking(now_ms: number, session_id: SessionId): TrackedTurn {
  return { ...initialTurn(now_ms), session_id, doorbell_id: null }
}

export function agentReady(state: TrackedTurn): TrackedTurn {
  return { ...state, turn: 'idle', doorbell_id: null }
}

/** `next` is the id of the next run. */
export function agentGone(state: TrackedTurn, next: SessionId): TrackedTurn {
  return { ...state, session_id: next, turn: 'unknown', doorbell_id: null }
}

/** Whether an agent has opened its session. */
export function isReady({ turn }: TrackedTurn): boolean {
  return turn !== 'unknown'
}

export function promptSent(state: TrackedTurn, doorbell_id: DoorbellId): TrackedTurn {
  return { ...beginTurn(state), doorbell_id }
}

export function updated(state: TrackedTurn, kind: string): TrackedTurn {
  return WORK_UPDATES.includes(kind) ? withReceipt(state) : state
}

export function promptEnded(state: TrackedTurn, stop_reason: string): TrackedTurn {
  return {
    ...(UNREAD_STOP_REASONS.includes(stop_reason) ? state : withReceipt(state)),
    turn: 'idle',
    doorbell_id: null,
  }
}

function withReceipt(state: TrackedTurn): TrackedTurn {
  return state.doorbell_id === null ? state : { ...state, seen_doorbell_id: state.doorbell_id }
}
