/**
 * Where one Claude Code session's turn stands, from its hooks and its session registry. Pure: time
 * comes in with each event, and what must be looked at again later is a deadline in the state.
 *
 * The hooks are exact and come first. They leave three gaps, which the registry fills, and their `prompt_id`:
 * - an interrupt (Esc) fires no hook: the registry goes to its prompt and no Stop comes;
 * - a prompt that was typed during a turn starts the next one without a hook of its own: the next hook bears
 *   another `prompt_id`;
 * - a worker that was replaced knows nothing yet.
 * The registry trails the hooks by a few milliseconds, so it is believed only once it has said the
 * same for a while.
 */
import { hasBackgroundTasks, type RegistryRecord, type TurnEvent } from './turn-events.ts'
import { shortBellId } from '../../src/contracts/doorbell.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'

export interface TrackedTurn {
  /** Claude's own id; it changes with /clear, fork and resume while the process stays. */
  session_id: string | null
  turn: Turn
  turn_seq: number
  turn_since_ms: number
  /** The client's name for the turn that runs or ran last; the empty string where it says none. */
  prompt_id: string
  registry: RegistryRecord['status']
  registry_session_id: string | null
  registry_since_ms: number
  /** The last stop left subagents at work: until the next one the registry says nothing about the main agent. */
  background: boolean
  /** A Stop waits for its answer: so long the client stays `busy`, and that is no turn. */
  asking: boolean
  /** Bells that were given and not yet seen in the conversation, newest last. */
  given: readonly DoorbellId[]
  /** Of the given ones, the bell that went into the conversation with the answer to a Stop. */
  continued_by: DoorbellId | null
  seen_doorbell_id: DoorbellId | null
  /** A hook told of the turn that runs, so one would tell of its end. */
  hooked: boolean
  /** A person interrupted the last turn and has sent nothing since. */
  interrupted: boolean
}

/** A receipt may come late, behind a dialog; more bells than this are never under way. */
const GIVEN_MAX = 4

/**
 * Turns are counted from `turn_seq` on: by the clock on the wall that is never behind the numbers of a worker that
 * was killed, which began earlier, as turns are slower than milliseconds. Every other time is monotonic.
 */
export function startTracking(
  session_id: string | null,
  now_ms: number,
  turn_seq: number = now_ms,
): TrackedTurn {
  return {
    session_id,
    turn: 'unknown',
    turn_seq,
    turn_since_ms: now_ms,
    prompt_id: '',
    registry: null,
    registry_session_id: null,
    registry_since_ms: now_ms,
    background: false,
    asking: false,
    given: [],
    continued_by: null,
    seen_doorbell_id: null,
    hooked: false,
    interrupted: false,
  }
}

/** A hook of the main agent; those of subagents say nothing about its turn and must not come here. */
export function hookFired(before: TrackedTurn, event: TurnEvent, now_ms: number): TrackedTurn {
  const state = inTurn(before, event, now_ms)
  switch (event.event) {
    case 'UserPromptSubmit':
      return seenIn(prompted(inSession(state, event), event.prompt, now_ms), event.prompt)
    case 'PreToolUse':
    case 'PostToolUse':
    case 'PostToolBatch':
    case 'PermissionRequest':
      return busy(continuationSeen(inSession(state, event)), now_ms)
    case 'Stop':
      return {
        ...idle(
          { ...continuationSeen(inSession(state, event)), background: hasBackgroundTasks(event) },
          now_ms,
        ),
        interrupted: false,
      }
    case 'StopFailure':
      return idle(inSession(state, event), now_ms)
    case 'SessionStart':
      // After a compaction the turn goes on as it was; a cleared session stands at its prompt.
      return event.source === 'clear'
        ? { ...idle(inSession(state, event), now_ms), interrupted: false }
        : inSession(state, event)
    case 'Notification':
      if (event.notification_type === 'permission_prompt') return busy(inSession(state, event), now_ms)
      // A minute at the prompt: late, but it needs no registry.
      if (event.notification_type === 'idle_prompt') return idle(inSession(state, event), now_ms)
      return state
    default:
      return state
  }
}

/** A bell went into the client's inbox. */
export function bellPosted(state: TrackedTurn, doorbell_id: DoorbellId): TrackedTurn {
  return { ...state, given: [...state.given, doorbell_id].slice(-GIVEN_MAX) }
}

/** Nobody was there to take it. */
export function bellRefused(state: TrackedTurn, doorbell_id: DoorbellId): TrackedTurn {
  return { ...state, given: state.given.filter((bell) => bell !== doorbell_id) }
}

/** The bell was given, and has not been seen in the conversation. */
export function isGiven(state: TrackedTurn, doorbell_id: DoorbellId): boolean {
  return state.given.includes(doorbell_id)
}

/** A bell went out as the answer to a Stop: the agent goes on, in a turn of its own. */
export function bellContinued(state: TrackedTurn, doorbell_id: DoorbellId, now_ms: number): TrackedTurn {
  return { ...busy(bellPosted(state, doorbell_id), now_ms), continued_by: doorbell_id }
}

/** The daemon is asked whether a bell goes out with the answer to a Stop. */
export function bellAsked(state: TrackedTurn): TrackedTurn {
  return { ...state, asking: true }
}

/** Only now does the client hear that it may stop: its registry has its time to follow from here on. */
export function askAnswered(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...state, asking: false, ...(state.turn === 'idle' && { turn_since_ms: now_ms }) }
}

/** Ends no turn, however long the registry has said so: before an end is told, more is to be done than to read. */
export function registryRead(state: TrackedTurn, record: RegistryRecord | null, now_ms: number): TrackedTurn {
  const status = record?.status ?? null
  const id = record?.sessionId ?? null
  const next = { ...state }
  if (status !== state.registry) {
    next.registry = status
    next.registry_since_ms = now_ms
  }
  // Only a change is news: the hooks may already know of a later session than a slow file does.
  if (id !== null && id !== state.registry_session_id) {
    next.registry_session_id = id
    next.session_id = id
  }
  return next
}

/**
 * The turn began, and then the registry went back to the prompt without a Stop. Not certain before it
 * has stayed there for a while, but a prompt that comes now starts something new.
 */
export function wasInterrupted(state: TrackedTurn): boolean {
  return state.turn === 'busy' && atPrompt(state) && state.registry_since_ms > state.turn_since_ms
}

/** The registry contradicts the hooks at this moment: a ring would land in a turn or a dialog. */
export function registryForbids(state: TrackedTurn): boolean {
  return !state.background && (state.registry === 'busy' || state.registry === 'waiting')
}

/** A dialog is open, of the main agent or of a subagent. */
export function showsDialog({ registry }: TrackedTurn): boolean {
  return registry === 'waiting'
}

/** A ring found the session busy although no hook said so. */
export function foundBusy(state: TrackedTurn, now_ms: number): TrackedTurn {
  return unnamedBusy(state, now_ms)
}

/** When `settled` would next change something, or null. */
export function settlesAt(state: TrackedTurn): number | null {
  const since = Math.max(state.registry_since_ms, state.turn_since_ms)
  const at_prompt = atPrompt(state)
  if (at_prompt && state.turn === 'busy') return since + LIMITS.claude_settle_ms
  if (at_prompt && state.turn === 'unknown') return since + LIMITS.claude_registry_lag_ms
  if (registryForbids(state) && state.turn !== 'busy' && !state.asking)
    return since + LIMITS.claude_registry_lag_ms
  return null
}

/** Believes the registry where it has contradicted the hooks long enough. */
export function settled(state: TrackedTurn, now_ms: number): TrackedTurn {
  const at = settlesAt(state)
  if (at === null || now_ms < at) return state
  if (!atPrompt(state)) return unnamedBusy(state, now_ms)
  const interrupted = state.interrupted || (state.turn === 'busy' && state.hooked)
  return { ...idle(state, now_ms), interrupted }
}

function atPrompt(state: TrackedTurn): boolean {
  return state.registry === 'idle' || state.registry === 'shell'
}

/** Another turn than the one that runs: that was interrupted, and a prompt waited behind it. */
function inTurn(state: TrackedTurn, { prompt_id }: TurnEvent, now_ms: number): TrackedTurn {
  if (prompt_id === '' || prompt_id === state.prompt_id) return state
  const next = { ...state, prompt_id }
  // A bell in the answer to a Stop has begun its turn already.
  const runs = state.turn === 'busy' && state.prompt_id !== '' && state.continued_by === null
  return runs ? busy(idle(next, now_ms), now_ms) : next
}

function inSession(state: TrackedTurn, event: TurnEvent): TrackedTurn {
  return event.session_id === '' ? state : { ...state, session_id: event.session_id }
}

/**
 * A prompt that is typed during a turn belongs to it as far as anybody can see, unless that turn was
 * interrupted. Either way the registry must show anew that the session stands at its prompt.
 */
function prompted(state: TrackedTurn, prompt: string, now_ms: number): TrackedTurn {
  const by_person = !state.given.some((bell) => showsBell(prompt, bell))
  const told = { hooked: true, interrupted: state.interrupted && !by_person }
  if (wasInterrupted(state)) return { ...busy(idle(state, now_ms), now_ms), ...told }
  return { ...busy(state, now_ms), ...told, turn_since_ms: now_ms }
}

function busy(state: TrackedTurn, now_ms: number): TrackedTurn {
  if (state.turn === 'busy') return state
  return { ...state, turn: 'busy', turn_seq: state.turn_seq + 1, turn_since_ms: now_ms }
}

/** No hook told of it yet: the first that does names it. */
function unnamedBusy(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...busy(state, now_ms), prompt_id: '', hooked: false }
}

function idle(state: TrackedTurn, now_ms: number): TrackedTurn {
  return { ...state, turn: 'idle', turn_since_ms: now_ms, continued_by: null }
}

/** The short id in a prompt is the receipt of the bell that carries it. */
function seenIn(state: TrackedTurn, prompt: string): TrackedTurn {
  const seen = state.given.findLast((bell) => showsBell(prompt, bell))
  return seen === undefined ? state : seenNow(state, seen)
}

const showsBell = (prompt: string, bell: DoorbellId) => prompt.includes(`(bell ${shortBellId(bell)})`)

/** An answered Stop shows itself by what the agent does next: there is no prompt to read. */
function continuationSeen(state: TrackedTurn): TrackedTurn {
  return state.continued_by === null ? state : { ...seenNow(state, state.continued_by), continued_by: null }
}

function seenNow(state: TrackedTurn, seen: DoorbellId): TrackedTurn {
  return { ...state, seen_doorbell_id: seen, given: state.given.filter((bell) => bell !== seen) }
}
