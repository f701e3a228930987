/** The session that is rung: its tracked state, and the server through which it is reached. Shared by the surface's parts. */
import type { OpencodeServer, SessionRef } from './server.ts'
import { startTracking, type TrackedSession } from './session-tracker.ts'
import { trackedState, type Tracked } from '../tracked-state.ts'
import type { DoorbellId, InstanceId } from '../../src/contracts/ids.ts'

export interface OutstandingBell {
  readonly doorbell_id: DoorbellId
  /** Idle time of the session after the doorbell was sent, or after the last turn, in milliseconds. */
  readonly idle_ms: number
  /** When the session was last known to be idle; null while a turn runs or the server does not answer. */
  readonly idle_at_ms: number | null
  /** The stored prompt began no turn within `opencode_bell_lost_ms` and cannot be deleted. */
  readonly is_stuck: boolean
}

/** `move` with an unchanged state does nothing. */
export interface AttachedSession extends Tracked<TrackedSession> {
  server: OpencodeServer | null
  /** The server has returned the session's turn. Events before that are processed, but no doorbell is sent. */
  ready: boolean
  /** The process of the last connected server. */
  instance_id: InstanceId | null
  /** The doorbell that the server still holds; set by the bell watch. */
  bell: OutstandingBell | null
  /** Whether the connection and the session are still the same. */
  readonly isCurrent: (server: OpencodeServer, session_ref: SessionRef) => boolean
  /** Like `isCurrent`, and the session is idle. */
  readonly mayRing: (server: OpencodeServer, session_ref: SessionRef) => boolean
}

export function attachedSession(now_ms: number): AttachedSession {
  const tracked = trackedState(startTracking(now_ms))
  const { state } = tracked
  const session: AttachedSession = {
    ...tracked,
    server: null,
    ready: false,
    instance_id: null,
    bell: null,
    move(next) {
      if (next !== state()) tracked.move(next)
    },
    isCurrent: (server, { id }) => session.server === server && state().session?.id === id,
    mayRing: (server, session_ref) =>
      session.ready && state().turn === 'idle' && session.isCurrent(server, session_ref),
  }
  return session
}
