/**
 * Tracks the turn of one Claude Code session from its hooks and its session registry. Pure: each event carries
 * its time, and a later check is a deadline in the state.
 *
 * The hooks are exact and arrive first. The registry and the hooks' `prompt_id` fill three gaps:
 * - an interrupt (Esc) fires no hook: the registry returns to the prompt without a Stop;
 * - a prompt that was typed during a turn starts the next turn without a hook of its own: the next hook carries
 *   another `prompt_id`;
 * - a replaced worker has no state yet.
 * The registry lags the hooks by a few milliseconds, so it is used only after it was unchanged for a while.
 */
import { hasBackgroundTasks, type RegistryRecord, type TurnEvent } from './turn-events.ts'
import { shortBellId } from '../../src/contracts/doorbell.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { beginTurn, initialTurn, type TurnState } from '../turn-tracker.ts'

export interface TrackedTurn extends TurnState {
  /** The client's own id; it changes with /clear, fork and resume while the process stays the same. */
  session_id: string | null
  turn_since_ms: number
  /** The client's id of the current or last turn; empty if not reported. */
  prompt_id: string
  registry: RegistryRecord['status']
  registry_session_id: string | null
  registry_since_ms: number
  /** Subagents still ran at the last Stop: until the next one the registry does not reflect the main agent. */
  background: boolean
  /** A Stop hook waits for its response. The client stays `busy` during that time, which is not a turn. */
  stop_pending: boolean
  /** Doorbells that were delivered and not yet seen in the conversation, newest last. */
  unseen: readonly DoorbellId[]
  /** The unseen doorbell that entered the conversation in the response to a Stop hook. */
  continued_by: DoorbellId | null
  /** A hook reported the current turn, so a hook would report its end. */
  has_hooks: boolean
  /** A person interrupted the last turn and has sent nothing after that. */
  interrupted: boolean
  /** A module in the client reports the turns: `mod-turns.ts`. */
  by_mod: boolean
  /** The module's id of the current or last turn; null if it has reported none. */
  mod_turn: string | null
  /** The module reported that the last turn ended without an interrupt. */
  ended_by_itself: boolean
  /** A doorbell whose turn has not begun yet. */
  entered: DoorbellId | null
  /** While a module is attached: a hook showed the begin of a turn that the module has not reported. Null without one. */
  hook_begin: { by_person: boolean } | null
  /** While a module is attached: a hook showed the end of the last turn. Null without one. */
  hook_end: { background: boolean } | null
}

/** Maximum number of unseen doorbells. A dialog can delay a receipt, but never of more doorbells than this. */
const UNSEEN_MAX = 4

/** `wall_ms` is the wall-clock time, from which turns are numbered; `now_ms` and all other times are monotonic. */
export function startTracking(
  session_id: string | null,
  now_ms: number,
  wall_ms: number = now_ms,
): TrackedTurn {
  return {
    ...initialTurn(wall_ms),
    session_id,
    turn_since_ms: now_ms,
    prompt_id: '',
    registry: null,
    registry_session_id: null,
    registry_since_ms: now_ms,
    background: false,
    stop_pending: false,
    unseen: [],
    continued_by: null,
    has_hooks: false,
    interrupted: false,
    by_mod: false,
    mod_turn: null,
    ended_by_itself: false,
    entered: null,
    hook_begin: null,
    hook_end: null,
  }
}

/** Handles a hook of the main agent. Hooks of subagents must not be passed, because they do not reflect its turn. */
export function hookFired(before: TrackedTurn, event: TurnEvent, now_ms: number): TrackedTurn {
  const state = withPromptId(before, event, now_ms)
  switch (event.event) {
    case 'UserPromptSubmit':
      return withReceipt(withPrompt(withSession(state, event), event.prompt, now_ms), event.prompt)
    case 'PreToolUse':
    case 'PostToolUse':
    case 'PostToolBatch':
    case 'PermissionRequest':
      return turnBegun(continuationSeen(withSession(state, event)), now_ms)
    case 'Stop':
      return {
        ...turnOver(
          { ...continuationSeen(withSession(state, event)), background: hasBackgroundTasks(event) },
          now_ms,
        ),
        interrupted: false,
      }
    case 'StopFailure':
      return turnOver(withSession(state, event), now_ms)
    case 'SessionStart':
      // After a compaction the turn continues; a cleared session is at its prompt.
      return event.source === 'clear'
        ? { ...turnOver(withSession(state, event), now_ms), interrupted: false }
        : withSession(state, event)
    case 'Notification':
      if (event.notification_type === 'permission_prompt') return turnBegun(withSession(state, event), now_ms)
      // Sent after one minute at the prompt: late, but independent of the registry.
      if (event.notification_type === 'idle_prompt') return turnOver(withSession(state, event), now_ms)
      return state
    default:
      return state
  }
}

/** A doorbell was posted to the client. */
export function bellPosted(state: TrackedTurn, doorbell_id: DoorbellId): TrackedTurn {
  return { ...state, unseen: [...state.unseen, doorbell_id].slice(-UNSEEN_MAX) }
}

/** No delivery path had a receiver for the doorbell. */
export function bellRejected(state: TrackedTurn, doorbell_id: DoorbellId): TrackedTurn {
  return { ...state, unseen: state.unseen.filter((bell) => bell !== doorbell_id) }
}

/** Whether the doorbell was delivered and not yet seen in the conversation. */
export function isUnseen(state: TrackedTurn, doorbell_id: DoorbellId): boolean {
  return state.unseen.includes(doorbell_id)
}

/** A doorbell was returned in the response to a Stop hook: the agent continues in a turn of its own. */
export function bellContinued(state: TrackedTurn, doorbell_id: DoorbellId, now_ms: number): TrackedTurn {
  return { ...turnBegun(bellPosted(state, doorbell_id), now_ms), continued_by: doorbell_id }
}

/** A Stop hook waits while the daemon decides whether its response carries a doorbell. */
export function stopPending(state: TrackedTurn): TrackedTurn {
  return { ...state, stop_pending: true }
}

/** The Stop hook got its response. The client stops only now, so the registry's time to follow starts here. */
export function stopAnswered(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...state, stop_pending: false, ...(state.turn === 'idle' && { turn_since_ms: now_ms }) }
}

/** Takes over a registry record. Never ends a turn; `settle` does, after the caller has released unread drains. */
export function registryRead(state: TrackedTurn, record: RegistryRecord | null, now_ms: number): TrackedTurn {
  const status = record?.status ?? null
  const id = record?.sessionId ?? null
  const next = { ...state }
  if (status !== state.registry) {
    next.registry = status
    next.registry_since_ms = now_ms
  }
  // Only a changed id counts, because the hooks may already have reported a later session than the file.
  if (id !== null && id !== state.registry_session_id) {
    next.registry_session_id = id
    next.session_id = id
  }
  return next
}

/**
 * Whether the registry returned to the prompt after the turn began, without a Stop. It is certain only after the
 * registry has stayed there for a while, but a prompt that arrives now starts a new turn.
 */
export function wasInterrupted(state: TrackedTurn): boolean {
  return (
    !state.by_mod &&
    state.turn === 'busy' &&
    isAtPrompt(state) &&
    state.registry_since_ms > state.turn_since_ms
  )
}

/** Whether the registry shows a turn or a dialog that a ring would enter. */
export function registryBlocksRing(state: TrackedTurn): boolean {
  return !state.background && (state.registry === 'busy' || state.registry === 'waiting')
}

/** Whether a dialog of the main agent or of a subagent is open. */
export function isDialogOpen({ registry }: TrackedTurn): boolean {
  return registry === 'waiting'
}

/** A ring found the session busy although no hook reported a turn. */
export function foundBusy(state: TrackedTurn, now_ms: number): TrackedTurn {
  return busyWithoutHook(state, now_ms)
}

/** Returns the time at which `settle` would change the state, or null. */
export function settleDeadline(state: TrackedTurn): number | null {
  // A module that has just been loaded does not know whether a turn runs, or whether the tracked one still does.
  const by_registry = state.turn === 'unknown' || (state.turn === 'busy' && state.mod_turn === null)
  if (state.by_mod && !by_registry) return null
  const since = Math.max(state.registry_since_ms, state.turn_since_ms)
  const at_prompt = isAtPrompt(state)
  if (at_prompt && state.turn === 'busy') return since + LIMITS.claude_settle_ms
  if (at_prompt && state.turn === 'unknown') return since + LIMITS.claude_registry_lag_ms
  if (registryBlocksRing(state) && state.turn !== 'busy' && !state.stop_pending)
    return since + LIMITS.claude_registry_lag_ms
  return null
}

/** Takes over the registry's view if it has contradicted the hooks long enough. */
export function settle(state: TrackedTurn, now_ms: number): TrackedTurn {
  const at = settleDeadline(state)
  if (at === null || now_ms < at) return state
  if (!isAtPrompt(state)) return busyWithoutHook(state, now_ms)
  // The client itself refuses a module's doorbell after an interrupt.
  const by_person = state.turn === 'busy' && state.has_hooks && !state.by_mod
  const interrupted = state.interrupted || by_person
  return { ...turnOver(state, now_ms), interrupted }
}

function isAtPrompt(state: TrackedTurn): boolean {
  return state.registry === 'idle' || state.registry === 'shell'
}

/** Handles a hook of a new turn while one runs: that turn was interrupted, and a queued prompt started the new one. */
function withPromptId(state: TrackedTurn, { prompt_id }: TurnEvent, now_ms: number): TrackedTurn {
  if (prompt_id === '' || prompt_id === state.prompt_id) return state
  const next = { ...state, prompt_id }
  // A doorbell in the response to a Stop hook has already started its turn.
  const runs = state.turn === 'busy' && state.prompt_id !== '' && state.continued_by === null
  return runs ? turnBegun(turnOver(next, now_ms), now_ms) : next
}

function withSession(state: TrackedTurn, event: TurnEvent): TrackedTurn {
  return event.session_id === '' ? state : { ...state, session_id: event.session_id }
}

/**
 * A prompt that is typed during a turn counts as part of it, unless that turn was interrupted. In both cases the
 * registry must show again that the session is at its prompt.
 */
function withPrompt(state: TrackedTurn, prompt: string, now_ms: number): TrackedTurn {
  const by_person = !state.unseen.some((bell) => showsBell(prompt, bell))
  const by_prompt = { has_hooks: true, interrupted: state.interrupted && !by_person }
  if (wasInterrupted(state)) return { ...turnBegun(turnOver(state, now_ms), now_ms), ...by_prompt }
  return { ...turnBegun(state, now_ms), ...by_prompt, turn_since_ms: now_ms }
}

/** Begins a turn; unchanged if one runs. */
export function turnBegun(state: TrackedTurn, now_ms: number): TrackedTurn {
  return state.turn === 'busy' ? state : { ...beginTurn(state), turn_since_ms: now_ms }
}

/** Begins a turn that no hook has reported; the first hook supplies its id. */
function busyWithoutHook(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...turnBegun(state, now_ms), prompt_id: '', has_hooks: false }
}

/** Ends the turn: the session is at its prompt. */
export function turnOver(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...state, turn: 'idle', turn_since_ms: now_ms, continued_by: null }
}

/** The short id of a doorbell in a prompt is its receipt. */
function withReceipt(state: TrackedTurn, prompt: string): TrackedTurn {
  const seen = shownBell(state, prompt)
  return seen === undefined ? state : bellSeen(state, seen)
}

/** Returns the unseen doorbell that the prompt shows. */
export function shownBell(state: TrackedTurn, prompt: string): DoorbellId | undefined {
  return state.unseen.findLast((bell) => showsBell(prompt, bell))
}

const showsBell = (prompt: string, bell: DoorbellId) => prompt.includes(`(bell ${shortBellId(bell)})`)

/** A doorbell in a Stop response has no prompt to read, so the agent's next hook is its receipt. */
function continuationSeen(state: TrackedTurn): TrackedTurn {
  return state.continued_by === null ? state : { ...bellSeen(state, state.continued_by), continued_by: null }
}

/** The doorbell was seen in the conversation. */
export function bellSeen(state: TrackedTurn, seen: DoorbellId): TrackedTurn {
  return { ...state, seen_doorbell_id: seen, unseen: state.unseen.filter((bell) => bell !== seen) }
}
