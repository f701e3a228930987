/**
 * An opencode session as a surface: reports its turns, and rings by a prompt of its own while the session
 * is idle. Whether a bell is due is the daemon's decision.
 *
 * A prompt that meets a running turn is merged into it or lost, so every doubt counts as a running turn.
 */
import type { Event, Session } from './protocol.ts'
import { OpencodeError, type OpencodeServer, type Place } from './server.ts'
import {
  adrift,
  bellMetadata,
  bound,
  foundBusy,
  isThere,
  startTracking,
  statusAnswered,
  told,
  unbound,
  type TrackedSession,
} from './session-tracker.ts'
import { DEFERRED, FAILED, UNAVAILABLE, pushStatus, saysMore } from '../surface-words.ts'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface OpencodeSurface extends Surface {
  open(host: SurfaceHost): void
  /** A server answers: goes on with this session, else with the one that was bound. */
  connected(server: OpencodeServer, earlier: Place | null): Promise<void>
  disconnected(): void
  told(event: Event): void
  /**
   * Somebody joins in this session. The server tells of it too, but not yet in the first moment of a connection.
   * Never rejects: where the server does not answer, it is asked again.
   */
  joined(place: Place): Promise<void>
  close(): void
}

export interface OpencodeSurfaceDeps {
  identity: Identity
  clock: Clock
  log: Log
  /** Keeps which session is rung, for the bridge and for the next shim. */
  keep: (place: Place | null) => void
}

export function opencodeSurface(deps: OpencodeSurfaceDeps): OpencodeSurface {
  const { identity, clock, log, keep } = deps
  let server: OpencodeServer | null = null
  /** The server has said where the session stands. What is told before binds a session; it cannot be rung yet. */
  let settled = false
  let state = startTracking(clock.now())
  let host: SurfaceHost | null = null
  let doubting: Timer | null = null
  /** The question that has to be asked again, whatever is told meanwhile. */
  let again: Timer | null = null
  /** Of several sessions that are looked up the last one counts. */
  let lookups = 0

  function status(): SurfaceStatus {
    const session_id = state.session?.id ?? null
    if (!settled) return pushStatus('opencode', session_id, { ...state, turn: 'unknown' }, false)
    return pushStatus('opencode', session_id, state, isThere(state))
  }

  function move(next: TrackedSession): void {
    if (next === state) return
    const told = status()
    const before = state
    state = next
    if (before.session?.id !== next.session?.id) {
      log.info({ session_id: next.session?.id ?? null }, 'bound to a session')
      keep(next.session)
    }
    doubting?.cancel()
    doubting = next.doubt === null ? null : clock.after(PATIENCE_MS[next.doubt], () => void ask())
    if (saysMore(told, status())) void host?.report(status())
  }

  /** Ends a doubt, or a lack of news, by the server's own word. */
  async function ask(): Promise<void> {
    const [to, asked] = [server, state]
    const place = asked.session
    if (to === null || place === null) return
    try {
      const busy = await to.isBusy(place)
      if (server === to && state.session?.id === place.id) move(statusAnswered(state, busy, asked))
    } catch (error) {
      log.debug({ err: error }, 'the server did not say whether a turn runs')
      if (server === to && state.doubt !== null)
        doubting = clock.after(PATIENCE_MS[state.doubt], () => void ask())
    }
  }

  const mayRing = (place: Place) => state.turn === 'idle' && state.session?.id === place.id

  return {
    status: async () => status(),

    async notify_surface({ doorbell_id, text }): Promise<RingResult> {
      const [to, place] = [server, state.session]
      if (to === null || place === null || !settled) return UNAVAILABLE
      if (!mayRing(place)) return DEFERRED
      try {
        // An event may be late. Asked last, because what is rung during a turn may be lost.
        if (await to.isBusy(place)) {
          if (mayRing(place)) move(foundBusy(state))
          return DEFERRED
        }
        if (!mayRing(place)) return DEFERRED
        const metadata = bellMetadata(identity, doorbell_id)
        // Without a messageID of our own: one that sorts low is kept and never answered.
        await to.prompt(place, { ...state.choice, parts: [{ type: 'text', text, metadata }] })
        return { accepted: true, proof: state.seen_doorbell_id === doorbell_id ? 'confirmed' : 'sent' }
      } catch (error) {
        log.warn({ err: error, session_id: place.id }, 'the session took no bell')
        if (server !== to) return UNAVAILABLE
        if (error instanceof OpencodeError && error.status === 404) move(unbound(state))
        return FAILED
      }
    },

    async resume_surface() {
      await ask()
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
    },

    async connected(to, earlier) {
      server = to
      // What is kept is as new as what we know, or newer: a session may have begun while nothing was heard.
      const place = earlier ?? state.session
      try {
        const found = place === null || (await goOn(to, place))
        if (!found) move(unbound(state))
      } finally {
        settled = server === to
      }
      void host?.report(status())
    },

    disconnected() {
      server = null
      again?.cancel()
      move(adrift(state))
      settled = false
    },

    told: (event) => move(told(state, event, identity)),

    joined,

    close() {
      doubting?.cancel()
      again?.cancel()
      host = null
    },
  }

  async function joined(place: Place): Promise<void> {
    const to = server
    if (to === null || place.id === state.session?.id) return
    again?.cancel()
    const before = state.session?.id
    const retry = () => void (state.session?.id === before && joined(place))
    try {
      // What is rung stays so where there is no such session; the bridge is to know it, too.
      if (!(await goOn(to, place))) keep(state.session)
    } catch (error) {
      log.debug({ err: error, session_id: place.id }, 'the session that was joined could not be looked up')
      if (server === to) again = clock.after(LIMITS.opencode_begin_ms, retry)
    }
  }

  /** False where there is no such session. */
  async function goOn(to: OpencodeServer, place: Place): Promise<boolean> {
    const before = state
    const lookup = (lookups += 1)
    const session: Session | null = await to.session(place)
    const busy = session !== null && (await to.isBusy(place))
    // What began meanwhile is newer, and so is what was asked for later.
    if (server !== to || state.session?.id !== before.session?.id || lookup !== lookups) return true
    if (session === null) return false
    move(statusAnswered(bound(state, session), busy, before))
    // The end of that turn may come before the server tells of anything.
    again?.cancel()
    if (busy) again = clock.after(LIMITS.opencode_begin_ms, () => void ask())
    return true
  }
}

const PATIENCE_MS = { begins: LIMITS.opencode_begin_ms, aborted: LIMITS.opencode_settle_ms }
