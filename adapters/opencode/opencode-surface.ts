/**
 * An opencode session as a surface: reports its turns, and rings with a prompt of its own while the session is idle.
 * The daemon decides whether a doorbell is due.
 *
 * A prompt during a turn is merged into it or lost, so an uncertain turn counts as running.
 */
import { bellRinger } from './bell-ringer.ts'
import { bellWatch } from './bell-watch.ts'
import { attachedSession, type AttachedSession } from './attached-session.ts'
import type { Event } from './protocol.ts'
import type { OpencodeServer, SessionRef } from './server.ts'
import { sessionBinder } from './session-binder.ts'
import {
  disconnected,
  eventReceived,
  isRefusal,
  outstanding,
  serverReplaced,
  unbound,
} from './session-tracker.ts'
import { turnQuery } from './turn-query.ts'
import { statusReporter } from '../status-reporter.ts'
import { UNAVAILABLE, pushStatus } from '../surface-results.ts'
import type { SurfaceStatus } from '../../src/contracts/control.ts'
import type { Identity, InstanceId } from '../../src/contracts/ids.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface OpencodeSurface extends Surface {
  open(host: SurfaceHost): void
  /**
   * A server was connected: binds the given session, else the one bound before. The surface is absent until the server
   * has returned the session's turn. Rejects if it does not; the surface then stays absent until the next connection.
   */
  connected(server: OpencodeServer, earlier: SessionRef | null): Promise<void>
  disconnected(): void
  handleEvent(event: Event): void
  /**
   * A person joined this session. The server also reports it, but not in the first moment of a connection. Never
   * rejects: retries if the server does not answer; without a server the next connection binds the stored session.
   */
  personJoined(session_ref: SessionRef): Promise<void>
  /** A person's window was opened or closed. */
  windowsChanged(): void
  close(): void
}

export interface OpencodeSurfaceDeps {
  identity: Identity
  clock: Clock
  log: Log
  /** Stores the session that is rung, for the bridge and the next shim. */
  storeSession: (session_ref: SessionRef | null) => void
  /** Called when a server is connected and no session is bound, so that another session can be joined. */
  onUnbound?: () => void
  /** Whether a person is present who may redo undone messages. Default: always. */
  mayRedo?: () => boolean
  /** Whether a person has a window open at the server. Absent for a headless agent. */
  hasWindow?: () => boolean
  /** Returns the server process, which runs the turns. */
  instanceId?: () => InstanceId | null
}

export function opencodeSurface(deps: OpencodeSurfaceDeps): OpencodeSurface {
  const { identity, mayRedo = () => true, hasWindow = () => true } = deps
  const { session, reporter, watch, turns, binder, ring, notifyIfUnbound } = createParts(deps)

  return {
    async status() {
      await watch.refresh()
      return statusOf(session, deps)
    },

    async notify_surface(doorbell) {
      const to = session.server
      const session_ref = session.state().session
      if (to === null || session_ref === null || !session.ready || !hasWindow()) return UNAVAILABLE
      return ring(to, session_ref, doorbell)
    },

    async resume_surface() {
      await turns.query()
      reporter.report()
    },

    open: (daemon) => reporter.open(daemon),

    async connected(to, earlier) {
      session.server = to
      noteInstance(session, deps.instanceId?.() ?? null)
      session.ready = false
      // The given session is preferred: it may have started while no server was connected.
      const session_ref = earlier ?? session.state().session
      if (session_ref !== null && (await binder.bind(to, session_ref)) === 'gone')
        session.move(unbound(session.state()))
      while (session.server === to) {
        const joined = binder.pendingJoin()
        if (joined === null) break
        await binder.joinNow(joined)
      }
      if (session.server !== to) return
      session.ready = true
      reporter.report()
      // The doubt may have expired already.
      if (session.state().turn === 'busy') void turns.query()
      notifyIfUnbound()
    },

    disconnected() {
      session.server = null
      turns.cancel()
      binder.cancel()
      session.move(disconnected(session.state()))
      session.ready = false
    },

    handleEvent(event) {
      // Without a person present, the shim itself rejected the request.
      if (isRefusal(event) && !mayRedo()) return
      session.move(eventReceived(session.state(), event, identity))
    },

    personJoined: (session_ref) => binder.join(session_ref),

    windowsChanged: reporter.reportChange,

    close() {
      session.server = null
      turns.close()
      binder.cancel()
      reporter.close()
    },
  }
}

/** Creates the parts of the surface; each reacts to the changes of the bound session in this order. */
function createParts(deps: OpencodeSurfaceDeps) {
  const { identity, clock, log, mayRedo = () => true } = deps
  const session = attachedSession(clock.now())
  const reporter = statusReporter(() => statusOf(session, deps))
  const watch = bellWatch({ identity, session, clock, log, onStuck: reporter.reportChange })
  const store = storeWith(deps)
  noteChanges(session, { store, log })
  const turns = turnQuery({ session, watch, clock, log })
  const binder = sessionBinder({ identity, session, turns, store, clock, log })
  const ring = bellRinger({ identity, session, watch, mayRedo, log })
  function notifyIfUnbound(): void {
    if (session.server !== null && session.ready && session.state().session === null) deps.onUnbound?.()
  }
  session.onMove((_, before) => {
    reporter.reportChange()
    if (before.session !== null) notifyIfUnbound()
  })
  return { session, reporter, watch, turns, binder, ring, notifyIfUnbound }
}

function statusOf(
  session: AttachedSession,
  { mayRedo = () => true, hasWindow = () => true }: OpencodeSurfaceDeps,
): SurfaceStatus {
  const state = session.state()
  const is_there = session.ready && state.turn !== 'unknown'
  // A stuck doorbell is reported as an unknown turn, so that the daemon's status shows `surface_failed` instead of an
  // endless busy turn.
  const is_known = is_there && session.bell?.is_stuck !== true
  const facts = {
    ...state,
    turn: is_known ? state.turn : ('unknown' as const),
    window: state.session === null || hasWindow(),
    instance_id: session.instance_id,
    outstanding_doorbell_id: outstanding(state),
    // Without a person present no user input would end the interruption.
    interrupted: state.interrupted && mayRedo(),
  }
  return pushStatus('opencode', state.session?.id ?? null, facts, is_there)
}

function noteInstance(session: AttachedSession, instance_id: InstanceId | null): void {
  const before = session.instance_id
  session.instance_id = instance_id
  if (before !== null && instance_id !== null && instance_id !== before)
    session.move(serverReplaced(session.state()))
}

/** Returns a function that stores the session. A failed write is only logged: the connection must survive a full disk. */
function storeWith({ storeSession, log }: OpencodeSurfaceDeps) {
  return (session_ref: SessionRef | null): void => {
    try {
      storeSession(session_ref)
    } catch (error) {
      log.warn({ err: error }, 'session could not be stored')
    }
  }
}

/** Stores each bound session, and logs it and an agent that no longer exists. */
function noteChanges(
  session: AttachedSession,
  { store, log }: { store: (session_ref: SessionRef | null) => void; log: Log },
): void {
  session.onMove((next, before) => {
    const another = before.session?.id !== next.session?.id
    if (another) log.info({ session_id: next.session?.id ?? null }, 'session bound')
    if (another || before.session?.directory !== next.session?.directory) store(next.session)
    const { missing_agent } = next
    if (missing_agent !== null && missing_agent !== before.missing_agent)
      log.warn(
        { agent: missing_agent },
        "agent of the session no longer exists; ringing the session's default agent",
      )
  })
}
