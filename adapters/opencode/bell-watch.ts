/**
 * Follows the outstanding doorbell of the bound session, and reads from the server whether it was seen or lost.
 *
 * A prompt that the server accepted may be stored late, and its turn may begin late. So it counts as lost only after
 * `opencode_bell_lost_ms` in which the session was not busy, and a stored one is deleted first: otherwise a later turn
 * would show it with the next doorbell.
 */
import type { AttachedSession, OutstandingBell } from './attached-session.ts'
import type { OpencodeServer, SessionRef } from './server.ts'
import {
  bellRemoved,
  isRunning,
  messagesRead,
  outstanding,
  type StoredBell,
  type TrackedSession,
} from './session-tracker.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface BellWatch {
  /**
   * Adds to the idle time of the outstanding doorbell, or resets it. An idle answer is ignored while the events show a
   * running turn, because it may be outdated.
   */
  noteBusy(busy: boolean): void
  /** Stops counting idle time, because the server did not answer. */
  noteSilence(): void
  /** Updates the tracked session from the server's messages. @throws OpencodeError */
  check(server: OpencodeServer, session_ref: SessionRef): Promise<void>
  /** Queries the turn and checks the outstanding doorbell; unchanged if the server does not answer. */
  refresh(): Promise<void>
}

export interface BellWatchDeps {
  identity: Identity
  session: AttachedSession
  clock: Pick<Clock, 'monotonic'>
  log: Log
  /** Called when the outstanding doorbell began no turn in time and its prompt cannot be deleted. */
  onStuck: () => void
}

export function bellWatch({ identity, session, clock, log, onStuck }: BellWatchDeps): BellWatch {
  const { state, move, isCurrent } = session

  async function check(server: OpencodeServer, session_ref: SessionRef): Promise<void> {
    const doorbell_id = session.bell?.doorbell_id
    if (doorbell_id === undefined) return
    const messages = await server.messages(session_ref, LIMITS.opencode_bell_messages_max)
    if (!isCurrent(server, session_ref)) return
    move(messagesRead(state(), messages, identity))
    const { bell } = session
    if (bell?.doorbell_id !== doorbell_id || bell.idle_at_ms === null) return
    if (withIdleTime(bell, clock.monotonic()).idle_ms < LIMITS.opencode_bell_lost_ms) return
    const stored = state().stored.find((one) => one.doorbell_id === doorbell_id)
    if (stored !== undefined) {
      const is_deleted = await deleteStored(server, session_ref, stored)
      if (!isCurrent(server, session_ref)) return
      if (!is_deleted) return markStuck(stored)
    }
    log.warn({ doorbell_id, stored: stored !== undefined }, 'doorbell started no turn')
    move(bellRemoved(state(), doorbell_id))
  }

  async function deleteStored(
    server: OpencodeServer,
    session_ref: SessionRef,
    { message_id }: StoredBell,
  ): Promise<boolean> {
    try {
      await server.removeMessage?.(session_ref, message_id)
      return server.removeMessage !== undefined
    } catch (error) {
      log.debug({ err: error, message_id }, 'prompt of the doorbell could not be deleted')
      return false
    }
  }

  function markStuck({ doorbell_id, message_id }: StoredBell): void {
    const { bell } = session
    if (bell?.doorbell_id !== doorbell_id || bell.idle_at_ms === null || bell.is_stuck) return
    session.bell = { ...bell, is_stuck: true }
    log.warn({ doorbell_id, message_id }, 'doorbell started no turn and its prompt could not be deleted')
    onStuck()
  }

  function noteBusy(busy: boolean): void {
    const { bell } = session
    if (bell === null) return
    if (busy) session.bell = { ...bell, ...NOT_IDLE }
    else if (!isRunning(state())) session.bell = withIdleTime(bell, clock.monotonic())
  }

  const noteSilence = () => void (session.bell = withIdlePaused(session.bell))

  async function refresh(): Promise<void> {
    const [to, session_ref] = [session.server, state().session]
    if (to === null || session_ref === null || !session.ready || session.bell === null) return
    try {
      const busy = await to.isBusy(session_ref)
      if (!isCurrent(to, session_ref)) return
      noteBusy(busy)
      if (!busy) await check(to, session_ref)
    } catch (error) {
      if (isCurrent(to, session_ref)) noteSilence()
      log.debug({ err: error, session_id: session_ref.id }, 'messages of the session could not be read')
    }
  }

  session.onMove((next) => void (session.bell = nextBell(next, session.bell, clock.monotonic())))
  return { noteBusy, noteSilence, check, refresh }
}

const NOT_IDLE = { idle_ms: 0, idle_at_ms: null }

/** Stops counting idle time and keeps the time counted so far. */
const withIdlePaused = (bell: OutstandingBell | null) => bell && { ...bell, idle_at_ms: null }

/** Adds the time after the last known idle moment. */
const withIdleTime = (bell: OutstandingBell, now_ms: number): OutstandingBell => ({
  ...bell,
  idle_ms: bell.idle_ms + (bell.idle_at_ms === null ? 0 : now_ms - bell.idle_at_ms),
  idle_at_ms: now_ms,
})

/** Returns the outstanding doorbell in the new state. */
function nextBell(
  state: TrackedSession,
  before: OutstandingBell | null,
  now_ms: number,
): OutstandingBell | null {
  const doorbell_id = outstanding(state)
  if (doorbell_id === null) return null
  const is_same = before?.doorbell_id === doorbell_id
  if (isRunning(state)) return { doorbell_id, ...NOT_IDLE, is_stuck: false }
  const bell = is_same ? before : { doorbell_id, idle_ms: 0, idle_at_ms: now_ms, is_stuck: false }
  return state.turn === 'unknown' ? withIdlePaused(bell) : bell
}
