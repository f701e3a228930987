/**
 * Tracks the turn in a pane from successive readings of its screen. Pure: every function returns the next state. Times
 * are monotonic milliseconds.
 *
 * A screen shows one moment. So a prompt counts only after it was unchanged for a while, and a turn that was seen to run
 * continues until a prompt is shown: a dialog does not end it.
 */
import type { Reading } from './reader.ts'
import { belowBell, showsBell } from './screen.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { beginTurn, initialTurn, type TurnState } from '../turn-tracker.ts'

/** The turn is `unknown` also for a draft or a dialog: no turn runs, but a doorbell must not ring. */
export interface TrackedPane extends TurnState {
  /** A known client held the pane at the last reading. */
  has_client: boolean
  /** The last reading, and the time since which it has been the same. */
  reading: Reading | null
  reading_since: number
  /** The last doorbell; its turn may not be visible yet. */
  bell: EnteredBell | null
}

interface EnteredBell {
  doorbell_id: DoorbellId
  text: string
  /** Time at which Enter was pressed. */
  entered_at: number
  begun: boolean
  /** Start of the current time at the prompt; null after a dialog, an unreadable screen or a failed reading. */
  prompt_since: number | null
}

export function startTracking(now_ms: number): TrackedPane {
  return { ...initialTurn(now_ms), has_client: false, reading: null, reading_since: 0, bell: null }
}

/** Handles a reading. `is_own_bell`: the composer contains a doorbell of turnbell that was never sent. */
export function screenRead(
  before: TrackedPane,
  reading: Reading,
  now: number,
  is_own_bell = false,
): TrackedPane {
  const same = before.reading !== null && isSame(before.reading, reading)
  const reading_since = same ? before.reading_since : now
  const state = withReceipt({ ...before, has_client: true, reading, reading_since })
  switch (reading.state === 'draft' && is_own_bell ? 'empty' : reading.state) {
    case 'busy':
      return turnBegun(state)
    case 'empty':
      return promptRead(state, same, now)
    case 'draft':
      // It may have been typed during a turn whose end is only now being drawn.
      return state.turn === 'idle' || isStable(state, LIMITS.tmux_settle_ms, now)
        ? { ...state, turn: 'unknown' }
        : state
    case 'dialog':
    case 'unknown':
      return {
        ...state,
        turn: state.turn === 'idle' ? 'unknown' : state.turn,
        bell: withoutPromptTime(state.bell),
      }
  }
}

/** Returns the doorbell that was entered and not seen in the conversation, if its turn was not seen to begin. */
export function outstanding({ bell, seen_doorbell_id }: TrackedPane): DoorbellId | null {
  if (bell === null || bell.begun || bell.doorbell_id === seen_doorbell_id) return null
  return bell.doorbell_id
}

/** Whether a person interrupted the last turn. The conversation ends with that until they send something. */
export function isInterrupted({ turn, reading }: TrackedPane): boolean {
  return turn !== 'busy' && reading?.interrupted === true
}

/** The screen could not be read, so its content is unknown. A doorbell that the client has not answered is kept. */
export function lookFailed(state: TrackedPane): TrackedPane {
  const bell = state.bell?.begun === true ? null : withoutPromptTime(state.bell)
  return { ...state, turn: 'unknown', reading: null, bell }
}

/** The pane or the client in it is gone. */
export function clientGone(state: TrackedPane): TrackedPane {
  return { ...lookFailed(state), has_client: false, bell: null }
}

/** Enter was pressed, and the doorbell is still in the composer. Later readings show whether a turn begins. */
export function bellPressed(
  state: TrackedPane,
  bell: { doorbell_id: DoorbellId; text: string },
  now: number,
): TrackedPane {
  return { ...state, bell: { ...bell, entered_at: now, begun: false, prompt_since: null } }
}

/** The doorbell has left the composer: its turn begins, even if the screen does not show it yet. */
export function bellEntered(
  state: TrackedPane,
  bell: { doorbell_id: DoorbellId; text: string },
  now: number,
): TrackedPane {
  return {
    ...state,
    turn: 'busy',
    turn_seq: state.turn_seq + 1,
    bell: { ...bell, entered_at: now, begun: false, prompt_since: null },
  }
}

const withoutPromptTime = (bell: EnteredBell | null) => bell && { ...bell, prompt_since: null }

function promptRead(before: TrackedPane, same: boolean, now: number): TrackedPane {
  const { reading, turn, bell } = before
  const state = { ...before, bell: bell && { ...bell, prompt_since: bell.prompt_since ?? now } }
  const ended = reading?.ended === true
  if (turn === 'idle') return same || ended ? state : turnBegun(state)
  const wait_ms = ended ? LIMITS.tmux_settle_ms : LIMITS.tmux_unproven_ms
  if (isTurnPending(state, now) || !isStable(state, wait_ms, now)) return state
  return { ...state, turn: 'idle', bell: null }
}

/**
 * Whether the client has the doorbell and its turn is still to begin: nothing follows it in the conversation, without a
 * time limit. A doorbell that is not shown counts as lost only after `tmux_bell_lost_ms` at the prompt.
 */
function isTurnPending({ reading, bell, seen_doorbell_id }: TrackedPane, now: number): boolean {
  if (bell === null || bell.begun) return false
  const below = reading === null ? null : belowBell(reading, bell.text)
  if (below !== null && EMPTY.test(below)) return true
  if (seen_doorbell_id === bell.doorbell_id) return now - bell.entered_at < LIMITS.tmux_begin_ms
  return now - (bell.prompt_since ?? now) < LIMITS.tmux_bell_lost_ms
}

/** Nothing but the upper edge of the composer. */
const EMPTY = /^─*$/

function turnBegun(state: TrackedPane): TrackedPane {
  return { ...beginTurn(state), bell: state.bell && { ...state.bell, begun: true } }
}

function withReceipt(state: TrackedPane): TrackedPane {
  const { bell, reading } = state
  if (bell === null || reading === null || !showsBell(reading, bell.text)) return state
  return { ...state, seen_doorbell_id: bell.doorbell_id }
}

function isStable({ reading_since }: TrackedPane, wait_ms: number, now: number): boolean {
  return now - reading_since >= wait_ms
}

function isSame(a: Reading, b: Reading): boolean {
  return (
    a.state === b.state &&
    a.draft === b.draft &&
    a.transcript === b.transcript &&
    a.ended === b.ended &&
    a.interrupted === b.interrupted
  )
}
