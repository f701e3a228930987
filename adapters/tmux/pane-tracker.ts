/**
 * Where the turn in a pane stands, from one look at its screen after the other. Pure: every function gives
 * the next state. Times are monotonic milliseconds.
 *
 * A screen shows a moment, so a prompt counts only once it has stood for a while, and a turn that was seen
 * to run goes on through everything that is no prompt: a dialog in its middle does not end it.
 */
import { belowBell, showsBell, type Reading } from './screen.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'

export interface TrackedPane {
  /** `unknown` also where a draft or a dialog stands: no turn runs, but a bell must not ring there either. */
  turn: Turn
  turn_seq: number
  seen_doorbell_id: DoorbellId | null
  /** A known client holds the pane, as far as anybody has looked. */
  client_there: boolean
  /** What the last look showed, and since when it has been the same. */
  last: Reading | null
  since: number
  /** The bell that was rung last; its turn may not be on the screen yet. */
  rung: RungBell | null
}

interface RungBell {
  doorbell_id: DoorbellId
  text: string
  /** When Enter was pressed. */
  at: number
  begun: boolean
  /** Start of the current time at the prompt; null after a dialog, an unreadable screen or a failed look. */
  prompt_since: number | null
}

/** Turn numbers must not go back when a killed shim is replaced, so they begin with the time. */
export function startTracking(now_ms: number): TrackedPane {
  return {
    ...{ turn: 'unknown', turn_seq: now_ms, seen_doorbell_id: null, client_there: false },
    ...{ last: null, since: 0, rung: null },
  }
}

/** `ours`: what stands in the composer is a bell of ours that was never sent. */
export function looked(before: TrackedPane, reading: Reading, now: number, ours = false): TrackedPane {
  const same = before.last !== null && isSame(before.last, reading)
  const since = same ? before.since : now
  const state = receipt({ ...before, client_there: true, last: reading, since })
  switch (reading.state === 'draft' && ours ? 'empty' : reading.state) {
    case 'busy':
      return turnBegun(state)
    case 'empty':
      return atPrompt(state, same, now)
    case 'draft':
      // It may have been typed over a turn whose end is only now being drawn.
      return state.turn === 'idle' || hasStood(state, LIMITS.tmux_settle_ms, now)
        ? { ...state, turn: 'unknown' }
        : state
    case 'dialog':
    case 'unknown':
      return { ...state, turn: state.turn === 'idle' ? 'unknown' : state.turn, rung: notAtPrompt(state.rung) }
  }
}

/** The doorbell that was entered and is not seen in the conversation, in a turn that was not seen to begin. */
export function outstanding({ rung, seen_doorbell_id }: TrackedPane): DoorbellId | null {
  if (rung === null || rung.begun || rung.doorbell_id === seen_doorbell_id) return null
  return rung.doorbell_id
}

/** A person interrupted the last turn: that stands at the end of the conversation until they send something. */
export function isInterrupted({ turn, last }: TrackedPane): boolean {
  return turn !== 'busy' && last?.interrupted === true
}

/** The pane was not shown, so its content is unknown. A bell that its client has not answered stays. */
export function adrift(state: TrackedPane): TrackedPane {
  const rung = state.rung?.begun === true ? null : notAtPrompt(state.rung)
  return { ...state, turn: 'unknown', last: null, rung }
}

/** The pane, or the client in it, is gone. */
export function clientGone(state: TrackedPane): TrackedPane {
  return { ...adrift(state), client_there: false, rung: null }
}

/** Enter was pressed, and the bell has not left the composer yet. Whether a turn begins, the screen will tell. */
export function bellPressed(
  state: TrackedPane,
  bell: { doorbell_id: DoorbellId; text: string },
  now: number,
): TrackedPane {
  return { ...state, rung: { ...bell, at: now, begun: false, prompt_since: null } }
}

/** The bell has left the composer: its turn begins, whatever the screen shows of it yet. */
export function bellEntered(
  state: TrackedPane,
  bell: { doorbell_id: DoorbellId; text: string },
  now: number,
): TrackedPane {
  return {
    ...state,
    turn: 'busy',
    turn_seq: state.turn_seq + 1,
    rung: { ...bell, at: now, begun: false, prompt_since: null },
  }
}

const notAtPrompt = (rung: RungBell | null) => rung && { ...rung, prompt_since: null }

function atPrompt(before: TrackedPane, same: boolean, now: number): TrackedPane {
  const { last, turn, rung } = before
  const state = { ...before, rung: rung && { ...rung, prompt_since: rung.prompt_since ?? now } }
  const ended = last?.ended === true
  if (turn === 'idle') return same || ended ? state : turnBegun(state)
  const wait_ms = ended ? LIMITS.tmux_settle_ms : LIMITS.tmux_unproven_ms
  if (isAwaited(state, now) || !hasStood(state, wait_ms, now)) return state
  return { ...state, turn: 'idle', rung: null }
}

/**
 * The client has the bell, and its turn is still to come: nothing follows the bell in the conversation, however long that
 * takes. One that is not shown counts as lost only after `tmux_bell_lost_ms` at the prompt.
 */
function isAwaited({ last, rung, seen_doorbell_id }: TrackedPane, now: number): boolean {
  if (rung === null || rung.begun) return false
  const below = last === null ? null : belowBell(last, rung.text)
  if (below !== null && NOTHING.test(below)) return true
  if (seen_doorbell_id === rung.doorbell_id) return now - rung.at < LIMITS.tmux_begin_ms
  return now - (rung.prompt_since ?? now) < LIMITS.tmux_bell_lost_ms
}

/** At most the upper edge of the composer. */
const NOTHING = /^─*$/

function turnBegun(state: TrackedPane): TrackedPane {
  const { turn, turn_seq, rung } = state
  return {
    ...state,
    turn: 'busy',
    turn_seq: turn === 'busy' ? turn_seq : turn_seq + 1,
    rung: rung === null ? null : { ...rung, begun: true },
  }
}

function receipt(state: TrackedPane): TrackedPane {
  const { rung, last } = state
  if (rung === null || last === null || !showsBell(last, rung.text)) return state
  return { ...state, seen_doorbell_id: rung.doorbell_id }
}

function hasStood({ since }: TrackedPane, wait_ms: number, now: number): boolean {
  return now - since >= wait_ms
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
