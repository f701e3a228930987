/**
 * The part that the turn trackers of all surfaces share. A tracker is a set of pure functions that return the next state
 * from the present one and an event of the client: `acp/turn-tracker.ts`, `claude-code/turn-tracker.ts`,
 * `codex/thread-tracker.ts`, `opencode/session-tracker.ts` and `tmux/pane-tracker.ts`.
 */
import type { DoorbellId } from '../src/contracts/ids.ts'
import type { Turn } from '../src/contracts/registry.ts'

export interface TurnState {
  turn: Turn
  /** Increases by one with every turn that begins, also across sessions. */
  turn_seq: number
  /** The last doorbell that was seen in a turn. */
  seen_doorbell_id: DoorbellId | null
}

/** Turn numbers start with the time, because they must not decrease when a killed shim is replaced. */
export function initialTurn(now_ms: number): TurnState {
  return { turn: 'unknown', turn_seq: now_ms, seen_doorbell_id: null }
}

/** Begins a turn. Unchanged if a turn runs already. */
export function beginTurn<State extends TurnState>(state: State): State {
  return state.turn === 'busy' ? state : { ...state, turn: 'busy', turn_seq: state.turn_seq + 1 }
}
