/**
 * The last doorbell that was posted into a Claude Code session, until the session shows it or it counts as lost.
 *
 * The client does not report the messages it holds. As observed with version 2.1.329, it reads a message also during a
 * turn and closes the connection; no hook fires then. The message enters that turn after its next batch of tools, or
 * begins a turn of its own right after it, even if the person interrupts it. So a turn that began without the doorbell does
 * not prove that the doorbell is lost; a client that stays at its prompt does.
 */
import { isUnseen, registryBlocksRing, isDialogOpen, type TrackedTurn } from './turn-tracker.ts'
import type { DeliveryPaths } from './delivery-paths.ts'
import type { ModLink } from './mod-link/mod-link.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'

export interface PostedBellDeps {
  paths: Pick<DeliveryPaths, 'unread' | 'markLost'>
  mod: Pick<ModLink, 'underWay'>
  /** Monotonic milliseconds. */
  now: () => number
  isStopped: () => boolean
}

export interface PostedBell {
  /** Starts to track another doorbell. Call it before the post, because the receipt may arrive before the post ends. */
  posting(doorbell_id: DoorbellId, state: TrackedTurn, by: 'path' | 'module'): void
  /** Records the end of the post: from now on the client has the doorbell. */
  posted(state: TrackedTurn): void
  /** Whether this doorbell was posted without the module. */
  isByPath(doorbell_id: string): boolean
  /** Returns the doorbell's id while it may still enter or begin a turn. */
  outstanding(state: TrackedTurn): DoorbellId | null
  /** Call it before the next post if the doorbell is no longer outstanding: marks its delivery path as lossy. */
  markPathLost(state: TrackedTurn): void
}

export function postedBell({ paths, mod, now, isStopped }: PostedBellDeps): PostedBell {
  let bell: { doorbell_id: DoorbellId; turn_seq: number; by: 'path' | 'module' } | null = null
  let lost = false
  let unread = false
  /** Total time at the prompt, in which the client should have begun a turn with the doorbell. */
  let at_prompt_ms = 0
  /** The time up to which `at_prompt_ms` is counted; null while the client is not at its prompt. */
  let counted_until_ms: number | null = null

  function resetTime(): void {
    at_prompt_ms = 0
    counted_until_ms = null
  }

  const isUnread = () => bell?.by === 'path' && paths.unread()

  /** A turn began after the post, so the client runs: an unread doorbell does not wait for a suspended client. */
  const hasNewTurn = (state: TrackedTurn) => bell !== null && state.turn_seq !== bell.turn_seq

  function countTime(state: TrackedTurn): void {
    if (isUnread() !== unread) {
      unread = !unread
      resetTime()
    }
    // A living module reports the outcome of its doorbell, however late.
    const is_held = bell !== null && mod.underWay() === bell.doorbell_id
    if (is_held || isStopped() || (unread && !hasNewTurn(state))) return resetTime()
    const at_ms = now()
    if (counted_until_ms !== null) at_prompt_ms += at_ms - counted_until_ms
    counted_until_ms = isAtPrompt(state) ? at_ms : null
  }

  return {
    posting(doorbell_id, { turn_seq }, by) {
      bell = { doorbell_id, turn_seq, by }
      lost = false
      resetTime()
    },
    posted(state) {
      unread = isUnread()
      resetTime()
      countTime(state)
    },
    isByPath: (doorbell_id) => bell?.doorbell_id === doorbell_id && bell.by === 'path',
    outstanding(state) {
      if (bell === null || lost || !isUnseen(state, bell.doorbell_id)) return null
      countTime(state)
      lost = at_prompt_ms >= LIMITS.claude_bell_lost_ms
      return lost ? null : bell.doorbell_id
    },
    markPathLost(state) {
      if (bell?.by !== 'path' || !isUnseen(state, bell.doorbell_id)) return
      if (unread || !hasNewTurn(state)) paths.markLost()
    },
  }
}

function isAtPrompt(state: TrackedTurn): boolean {
  return state.turn === 'idle' && !state.stop_pending && !registryBlocksRing(state) && !isDialogOpen(state)
}
