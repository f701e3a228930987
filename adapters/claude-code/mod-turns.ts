/**
 * Changes of the tracked turn while a module in the client reports it. The module is exact: it reports the begin and
 * the end of every turn, and an interrupt. Hooks then only supply ids and receipts, and the registry only open dialogs.
 */
import type { Hello } from './mod/messages.ts'
import type { TurnEvent } from './turn-events.ts'
import { turnBegun, turnOver, bellSeen, shownBell, type TrackedTurn } from './turn-tracker.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'

/** A module attached. `busy` is null if it does not know whether a turn runs; then the present state is kept. */
export function modAttached(
  state: TrackedTurn,
  { busy, turn, session_id }: Pick<Hello, 'busy' | 'turn' | 'session_id'>,
  now_ms: number,
): TrackedTurn {
  const attached = {
    ...state,
    by_mod: true,
    ended_by_itself: false,
    entered: null,
    mod_turn: turn ?? null,
    session_id: session_id || state.session_id,
  }
  if (busy === true) return turnBegun(attached, now_ms)
  return busy === false ? turnOver(attached, now_ms) : attached
}

/** The module is gone: hooks and registry continue with the turn as it is. */
export function modLost(state: TrackedTurn, now_ms: number): TrackedTurn {
  const lost = { ...state, by_mod: false, has_hooks: state.turn === 'busy', registry_since_ms: now_ms }
  return withEntered(lost)
}

/**
 * The main agent began a turn. A turn that still runs has ended before it: the client reports the end of an interrupted
 * turn after the begin of the turn that a waiting prompt starts.
 */
export function modTurnStarted(state: TrackedTurn, turn: string, now_ms: number): TrackedTurn {
  return withEntered({ ...turnBegun(turnOver(state, now_ms), now_ms), mod_turn: turn, has_hooks: true })
}

/** Whether the turn may be the current one. The id of a turn that began before the module was loaded is unknown. */
export function isModTurn(state: TrackedTurn, turn: string): boolean {
  return state.mod_turn === null || state.mod_turn === turn
}

/** The main agent ended its current turn. `reason` is the client's word; `aborted` means by a person. */
export function modTurnEnded(state: TrackedTurn, reason: string, now_ms: number): TrackedTurn {
  const interrupted = reason === 'aborted'
  return { ...turnOver(state, now_ms), interrupted, ended_by_itself: !interrupted, background: false }
}

/** Events are missing, which may have been the begin or the end of a turn: until the next one the registry supplies it. */
export function modEventsMissing(state: TrackedTurn): TrackedTurn {
  return { ...state, mod_turn: null }
}

/** A person interrupted the session; the end of the turn follows. */
export function modStopped(state: TrackedTurn): TrackedTurn {
  return { ...state, interrupted: true, ended_by_itself: false }
}

/** A person, or the program that has the session, sent a prompt. */
export function modPrompted(state: TrackedTurn): TrackedTurn {
  return { ...state, interrupted: false }
}

/** A turn begins with the doorbell, or has just begun. */
export function modBellEntered(state: TrackedTurn, doorbell_id: DoorbellId): TrackedTurn {
  const entered = { ...state, entered: doorbell_id }
  return state.turn === 'busy' ? withEntered(entered) : entered
}

/** Takes what a hook shows besides the turn: the ids of session and turn, and the receipt of a doorbell. */
export function hookNoted(state: TrackedTurn, event: TurnEvent): TrackedTurn {
  const noted = {
    ...state,
    prompt_id: event.prompt_id || state.prompt_id,
    session_id: event.session_id || state.session_id,
  }
  const bell = event.event === 'UserPromptSubmit' ? shownBell(state, event.prompt) : undefined
  if (bell === undefined) return noted
  // The prompt of another turn, before the module has reported its begin or even the end of the turn before it.
  const begins = event.prompt_id !== '' && event.prompt_id !== state.prompt_id
  return begins ? { ...noted, entered: bell } : modBellEntered(noted, bell)
}

/** A receipt counts for the turn that it begins, which may be reported after it. */
function withEntered(state: TrackedTurn): TrackedTurn {
  return state.entered === null ? state : { ...bellSeen(state, state.entered), entered: null }
}
