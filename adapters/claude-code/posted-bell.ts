/**
 * The last doorbell that was posted into a Claude Code session, until the session shows it or it counts as lost.
 *
 * The client says nothing of the messages it holds. What it does with one, observed with version 2.1.329: it reads the
 * message also during a turn and closes the connection; no hook fires then. The message enters that turn after its next
 * batch of tools, or begins a turn of its own right after it, also where the user interrupts it. So a turn that began
 * without the doorbell does not show that the doorbell is lost. A client that stays at its prompt does.
 */
import { isGiven, registryForbids, showsDialog, type TrackedTurn } from './turn-tracker.ts'
import type { Ways } from './ways.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'

export interface PostedBellDeps {
  ways: Pick<Ways, 'unread' | 'lost'>
  /** Monotonic milliseconds. */
  now: () => number
  isStopped: () => boolean
}

export interface PostedBell {
  /** Starts to follow another doorbell. To be called before it leaves: its receipt may come before the post is done. */
  posting(doorbell_id: DoorbellId, state: TrackedTurn): void
  /** The post is done: from here on the client has had the doorbell. */
  posted(state: TrackedTurn): void
  /** Returns the doorbell's id while it may still enter or begin a turn. */
  outstanding(state: TrackedTurn): DoorbellId | null
  /** To be called once it is outstanding no more, before the next one leaves: its way may be the reason. */
  blameWay(state: TrackedTurn): void
}

export function postedBell({ ways, now, isStopped }: PostedBellDeps): PostedBell {
  let bell: { doorbell_id: DoorbellId; turn_seq: number } | null = null
  let lost = false
  let unread = false
  /** Sum of the times that the client has stood at its prompt, in which it should have begun a turn with the doorbell. */
  let at_prompt_ms = 0
  /** Up to when that is counted; null while the client is not at its prompt. */
  let counted_ms: number | null = null

  function restart(): void {
    at_prompt_ms = 0
    counted_ms = null
  }

  /** A turn has begun since: the client does its work, so an unread doorbell does not wait for it to continue. */
  const turned = (state: TrackedTurn) => bell !== null && state.turn_seq !== bell.turn_seq

  function count(state: TrackedTurn): void {
    if (ways.unread() !== unread) {
      unread = !unread
      restart()
    }
    if (isStopped() || (unread && !turned(state))) return restart()
    const at_ms = now()
    if (counted_ms !== null) at_prompt_ms += at_ms - counted_ms
    counted_ms = isAtPrompt(state) ? at_ms : null
  }

  return {
    posting(doorbell_id, { turn_seq }) {
      bell = { doorbell_id, turn_seq }
      lost = false
      restart()
    },
    posted(state) {
      unread = ways.unread()
      restart()
      count(state)
    },
    outstanding(state) {
      if (bell === null || lost || !isGiven(state, bell.doorbell_id)) return null
      count(state)
      lost = at_prompt_ms >= LIMITS.claude_bell_lost_ms
      return lost ? null : bell.doorbell_id
    },
    blameWay(state) {
      if (bell === null || !isGiven(state, bell.doorbell_id)) return
      if (unread || !turned(state)) ways.lost()
    },
  }
}

function isAtPrompt(state: TrackedTurn): boolean {
  return state.turn === 'idle' && !state.asking && !registryForbids(state) && !showsDialog(state)
}
