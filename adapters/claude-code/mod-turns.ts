/**
 * Changes of the tracked turn while a module in the client reports it. The module is exact: it reports the begin and
 * the end of every turn, and an interrupt. Hooks then only supply ids and receipts, and the registry only open dialogs.
 * What hooks show of a turn counts only when the module is gone or was not there to report it.
 */
import type { Hello } from './mod/messages.ts'
import { hasBackgroundTasks, type TurnEvent } from './turn-events.ts'
import { turnBegun, turnOver, bellSeen, shownBell, type TrackedTurn } from './turn-tracker.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'

const NOTHING_BY_HOOKS = { hook_begin: null, hook_end: null }

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
    ...NOTHING_BY_HOOKS,
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
  return withEntered({ ...nextTurn(state, now_ms), mod_turn: turn })
}

/**
 * Begins the turn that hooks showed and the module did not report. If the turn before it still runs by the reports, both
 * count as one: the end of that turn would make drains of this one final, which the agent may not have been shown.
 */
export function hookTurnBegun(state: TrackedTurn, now_ms: number): TrackedTurn {
  const { hook_begin, hook_end, turn } = state
  if (hook_begin === null) return state
  const interrupted = state.interrupted && !hook_begin.by_person
  if (turn === 'busy') return { ...state, interrupted, hook_begin: null }
  return withEntered({ ...nextTurn(state, now_ms), hook_end, interrupted })
}

/** Ends the turn whose end a hook showed and the module did not report. Such a turn was not interrupted. */
export function hookTurnEnded(state: TrackedTurn, now_ms: number): TrackedTurn {
  const { hook_end, turn } = state
  if (hook_end === null || turn !== 'busy') return state
  return {
    ...turnOver(state, now_ms),
    ...hook_end,
    hook_end: null,
    interrupted: false,
    ended_by_itself: true,
  }
}

function nextTurn(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...turnBegun(turnOver(state, now_ms), now_ms), ...NOTHING_BY_HOOKS, has_hooks: true }
}

/** Whether the turn may be the current one. The id of a turn that began before the module was loaded is unknown. */
export function isModTurn(state: TrackedTurn, turn: string): boolean {
  return state.mod_turn === null || state.mod_turn === turn
}

/** The main agent ended its current turn. `reason` is the client's word; `aborted` means by a person. */
export function modTurnEnded(state: TrackedTurn, reason: string, now_ms: number): TrackedTurn {
  const interrupted = reason === 'aborted'
  return {
    ...turnOver(state, now_ms),
    ...{ interrupted, ended_by_itself: !interrupted, background: false, hook_end: null },
  }
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

/** Takes the ids of session and turn, the receipt of a doorbell, and what the hook shows of a turn. */
export function hookNoted(state: TrackedTurn, event: TurnEvent): TrackedTurn {
  const noted = {
    ...state,
    prompt_id: event.prompt_id || state.prompt_id,
    session_id: event.session_id || state.session_id,
  }
  switch (event.event) {
    case 'UserPromptSubmit': {
      // The prompt of another turn, before the module has reported its begin or even the end of the turn before it.
      const begins = event.prompt_id !== '' && event.prompt_id !== state.prompt_id
      const bell = shownBell(state, event.prompt)
      const hook_begin = { by_person: bell === undefined }
      const prompted = begins ? { ...noted, hook_begin, hook_end: null } : noted
      if (bell === undefined) return prompted
      return begins ? { ...prompted, entered: bell } : modBellEntered(prompted, bell)
    }
    case 'Stop':
    case 'StopFailure':
      return { ...noted, hook_end: { background: hasBackgroundTasks(event) } }
    case 'SessionStart':
      return event.source === 'clear'
        ? { ...noted, interrupted: false, hook_end: { background: false } }
        : noted
    case 'PreToolUse':
    case 'PostToolUse':
    case 'PostToolBatch':
    case 'PermissionRequest':
      // Another plugin made the agent go on.
      return { ...noted, hook_end: null }
    default:
      return noted
  }
}

/** A receipt counts for the turn that it begins, which may be reported after it. */
function withEntered(state: TrackedTurn): TrackedTurn {
  return state.entered === null ? state : { ...bellSeen(state, state.entered), entered: null }
}
