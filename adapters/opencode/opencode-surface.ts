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
  bellChoice,
  bellGone,
  bellHanded,
  bellMetadata,
  isRefusal,
  isRunning,
  lookedUp,
  messagesRead,
  outstanding,
  serverReplaced,
  startTracking,
  statusAnswered,
  told,
  turnPresumed,
  unbound,
  type StoredBell,
  type TrackedSession,
} from './session-tracker.ts'
import { statusReporter } from '../status-reporter.ts'
import { DEFERRED, FAILED, UNAVAILABLE, pushStatus } from '../surface-words.ts'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { DoorbellId, Identity, InstanceId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface OpencodeSurface extends Surface {
  open(host: SurfaceHost): void
  /**
   * A server answers: goes on with this session, else with the one that was bound. Nobody is there to be rung
   * before it has said where that stands. Rejects where it does not; then nobody is there until the next.
   */
  connected(server: OpencodeServer, earlier: Place | null): Promise<void>
  disconnected(): void
  told(event: Event): void
  /**
   * Somebody joins in this session. The server tells of it too, but not yet in the first moment of a connection.
   * Never rejects: where the server does not answer, it is asked again; where there is none, the next connection
   * goes on with what is kept.
   */
  joined(place: Place): Promise<void>
  /** A person's window was opened or closed. */
  windowsChanged(): void
  close(): void
}

export interface OpencodeSurfaceDeps {
  identity: Identity
  clock: Clock
  log: Log
  /** Keeps which session is rung, for the bridge and for the next shim. */
  keep: (place: Place | null) => void
  /** A server answers, and no session is bound: whoever knows another lets the surface join it. */
  onUnbound?: () => void
  /** Somebody is there who may want back what they have undone; where that is not known, always. */
  mayRedo?: () => boolean
  /** Whether a person has a window open at the server. Absent for an agent that works without one. */
  hasWindow?: () => boolean
  /** The process that answers as the server, which runs the turns. */
  instanceId?: () => InstanceId | null
}

export function opencodeSurface(deps: OpencodeSurfaceDeps): OpencodeSurface {
  const { identity, clock, log, onUnbound = () => {}, mayRedo = () => true, hasWindow = () => true } = deps
  let server: OpencodeServer | null = null
  /** The server has said where the session stands. What it tells before that is taken in, and not yet rung on. */
  let answered = false
  /** Of the server that was connected to last. */
  let instance_id: InstanceId | null = null
  let state = startTracking(clock.now())
  let doubting: Timer | null = null
  /**
   * Until the next question: the last was not answered, or only its answer says that a turn runs, and its end may
   * have been told before.
   */
  let again: Timer | null = null
  /** Somebody joined in this session while it was not known yet where the other one stands. */
  let joining: Place | null = null
  let rejoin: Timer | null = null
  /** Of several sessions that are looked up the last one counts. */
  let lookups = 0
  let held: HeldBell | null = null

  function status(): SurfaceStatus {
    const is_there = answered && state.turn !== 'unknown'
    const turn = is_there && held?.is_stuck !== true ? state.turn : 'unknown'
    const facts = {
      ...{ ...state, turn, window: state.session === null || hasWindow(), instance_id },
      outstanding_doorbell_id: outstanding(state),
      // Where nobody is there, nobody ends the interruption.
      interrupted: state.interrupted && mayRedo(),
    }
    return pushStatus('opencode', state.session?.id ?? null, facts, is_there)
  }
  const reporter = statusReporter(status)
  const { report, reportChange } = reporter

  function move(next: TrackedSession): void {
    if (next === state) return
    const before = state
    state = next
    held = heldBy(next, held, clock.monotonic())
    const another = before.session?.id !== next.session?.id
    if (another) log.info({ session_id: next.session?.id ?? null }, 'bound to a session')
    if (another || before.session?.directory !== next.session?.directory) keep(next.session)
    const { missing_agent } = next
    if (missing_agent !== null && missing_agent !== before.missing_agent)
      log.warn({ agent: missing_agent }, 'the agent of the session is gone, so it is rung without')
    doubting?.cancel()
    doubting = next.doubt === null ? null : clock.after(PATIENCE_MS[next.doubt], endDoubt)
    reportChange()
    if (before.session !== null) tellIfUnbound()
  }

  function tellIfUnbound(): void {
    if (server !== null && answered && state.session === null) onUnbound()
  }

  /** A disk that is full must not end what is heard of the server; the bridge and the next shim go without. */
  function keep(place: Place | null): void {
    try {
      deps.keep(place)
    } catch (error) {
      log.warn({ err: error }, 'which session is rung was not written down')
    }
  }

  function endDoubt(): void {
    doubting = null
    void ask()
  }

  /** Neither the connection nor the session has changed since. */
  function isCurrent(to: OpencodeServer, place: Place): boolean {
    return server === to && state.session?.id === place.id
  }

  /** Ends a doubt whose time is over, or a lack of news, by the server's own word. */
  async function ask(): Promise<void> {
    const [to, asked] = [server, state]
    const place = asked.session
    // Before the first answer a question is under way. The turn that a doubt is about the server may not know yet.
    if (to === null || place === null || !answered || doubting !== null) return
    try {
      const busy = await to.isBusy(place)
      if (!isCurrent(to, place)) return
      noteBusy(busy)
      if (!busy) await lookForBell(to, place)
      if (!isCurrent(to, place)) return
      move(statusAnswered(state, busy, asked))
      if (busy) askAgain()
    } catch (error) {
      log.debug({ err: error }, 'the server did not say whether a turn runs')
      if (!isCurrent(to, place)) return
      held = paused(held)
      askAgain()
    }
  }

  /**
   * Adds to the idle time of the outstanding doorbell, or resets it. While the events show a running turn, the answer that the
   * session is idle may be outdated, so it is ignored.
   */
  function noteBusy(busy: boolean): void {
    if (busy) held = held && { ...held, ...NOT_IDLE }
    else if (held !== null && !isRunning(state)) held = stillIdle(held, clock.monotonic())
  }

  /**
   * Reads from the server what became of the outstanding doorbell. A prompt that the server accepted may be stored
   * late, and its turn may begin late. So it counts as lost only after `opencode_bell_lost_ms` in which the session was
   * not busy, and a stored one is deleted first: no later turn can show it beside the next doorbell.
   */
  async function lookForBell(to: OpencodeServer, place: Place): Promise<void> {
    const doorbell_id = held?.doorbell_id
    if (doorbell_id === undefined) return
    const messages = await to.messages(place, LIMITS.opencode_bell_messages_max)
    if (!isCurrent(to, place)) return
    move(messagesRead(state, messages, identity))
    if (held?.doorbell_id !== doorbell_id || held.idle_at_ms === null) return
    if (stillIdle(held, clock.monotonic()).idle_ms < LIMITS.opencode_bell_lost_ms) return
    const stored = state.standing.find((bell) => bell.doorbell_id === doorbell_id)
    if (stored !== undefined) {
      const is_deleted = await deleteStored(to, place, stored)
      if (!isCurrent(to, place)) return
      if (!is_deleted) return noteStuck(stored)
    }
    log.warn({ doorbell_id, stored: stored !== undefined }, 'the doorbell began no turn')
    move(bellGone(state, doorbell_id))
  }

  async function deleteStored(
    to: OpencodeServer,
    place: Place,
    { message_id }: StoredBell,
  ): Promise<boolean> {
    try {
      await to.removeMessage?.(place, message_id)
      return to.removeMessage !== undefined
    } catch (error) {
      log.debug({ err: error, message_id }, 'the server did not delete the prompt of a doorbell')
      return false
    }
  }

  /** Reports the turn as unknown, so that the daemon's status shows `surface_failed` instead of an endless busy turn. */
  function noteStuck({ doorbell_id, message_id }: StoredBell): void {
    if (held?.doorbell_id !== doorbell_id || held.idle_at_ms === null || held.is_stuck) return
    held = { ...held, is_stuck: true }
    log.warn({ doorbell_id, message_id }, 'the doorbell began no turn and its prompt cannot be deleted')
    reportChange()
  }

  /** For a status that the daemon asks for. Keeps what is known where the server does not answer. */
  async function lookAtServer(): Promise<void> {
    const [to, place] = [server, state.session]
    if (to === null || place === null || !answered || held === null) return
    try {
      const busy = await to.isBusy(place)
      if (!isCurrent(to, place)) return
      noteBusy(busy)
      if (!busy) await lookForBell(to, place)
    } catch (error) {
      if (isCurrent(to, place)) held = paused(held)
      log.debug({ err: error, session_id: place.id }, 'the server did not report its messages')
    }
  }

  function askAgain(): void {
    again?.cancel()
    again = clock.after(LIMITS.opencode_begin_ms, () => void (state.turn !== 'idle' && ask()))
  }

  const mayRing = (to: OpencodeServer, place: Place) =>
    answered && state.turn === 'idle' && isCurrent(to, place)

  return {
    async status() {
      await lookAtServer()
      return status()
    },

    async notify_surface({ doorbell_id, text }): Promise<RingResult> {
      const [to, place] = [server, state.session]
      if (to === null || place === null || !answered || !hasWindow()) return UNAVAILABLE
      if (!mayRing(to, place)) return DEFERRED
      try {
        // An event may be late. Asked last, because what is rung during a turn may be lost.
        const [session, busy] = await Promise.all([to.session(place), to.isBusy(place)])
        if (session === null) throw new OpencodeError(404, 'the session is gone')
        if (isCurrent(to, place)) noteBusy(busy)
        if (busy) {
          if (mayRing(to, place)) move(turnPresumed(state))
          return DEFERRED
        }
        // What is prompted behind something that was undone deletes that for good.
        if (isUndone(session) && mayRedo()) return DEFERRED
        if (!mayRing(to, place)) return DEFERRED
        if (held !== null) await lookForBell(to, place)
        if (held !== null || !mayRing(to, place)) return DEFERRED
        const metadata = bellMetadata(identity, doorbell_id)
        // Noted before it leaves: a server that answers too late may have it.
        move(bellHanded(state, doorbell_id))
        // Without a messageID of our own: one that sorts low is kept and never answered.
        await to.prompt(place, { ...bellChoice(state), parts: [{ type: 'text', text, metadata }] })
        return { accepted: true, proof: state.seen_doorbell_id === doorbell_id ? 'confirmed' : 'sent' }
      } catch (error) {
        log.warn({ err: error, session_id: place.id }, 'the session took no bell')
        const refused = error instanceof OpencodeError && error.status !== null
        if (refused) move(bellGone(state, doorbell_id))
        if (server !== to) return UNAVAILABLE
        // By now it may be another that is bound.
        const same = state.session?.id === place.id
        if (same && error instanceof OpencodeError && error.status === 404) move(unbound(state))
        return FAILED
      }
    },

    async resume_surface() {
      await ask()
      report()
    },

    open(daemon) {
      reporter.open(daemon)
    },

    async connected(to, earlier) {
      server = to
      const before = instance_id
      instance_id = deps.instanceId?.() ?? null
      if (before !== null && instance_id !== null && instance_id !== before) move(serverReplaced(state))
      answered = false
      // What is kept is as new as what we know, or newer: a session may have begun while nothing was heard.
      const place = earlier ?? state.session
      if (place !== null && (await goOn(to, place)) === 'gone') move(unbound(state))
      while (server === to && joining !== null) await lookUp(joining)
      if (server !== to) return
      answered = true
      report()
      // The doubt's time may be over already.
      if (state.turn === 'busy' && doubting === null) void ask()
      tellIfUnbound()
    },

    disconnected() {
      server = null
      again?.cancel()
      rejoin?.cancel()
      joining = null
      move(adrift(state))
      answered = false
    },

    told(event) {
      // Without a person at the window, the shim itself refused.
      if (isRefusal(event) && !mayRedo()) return
      move(told(state, event, identity))
    },

    async joined(place) {
      rejoin?.cancel()
      if (server === null) return
      if (answered) await lookUp(place)
      else joining = place
    },

    windowsChanged: reportChange,

    close() {
      server = null
      doubting?.cancel()
      again?.cancel()
      rejoin?.cancel()
      reporter.close()
    },
  }

  /** The session that somebody joined in. Never rejects. */
  async function lookUp(place: Place): Promise<void> {
    const to = server
    joining = null
    const before = state.session?.id
    // They may be back before another one was looked up: that one counts no more.
    const lookup = (lookups += 1)
    if (to === null || place.id === before) return
    try {
      // The bridge is to know, too, which one is rung.
      if ((await goOn(to, place, lookup)) === 'gone') keep(state.session)
    } catch (error) {
      log.debug({ err: error, session_id: place.id }, 'the session that was joined could not be looked up')
      if (server !== to || lookup !== lookups) return
      const retry = () => void (state.session?.id === before && lookUp(place))
      rejoin = clock.after(LIMITS.opencode_begin_ms, retry)
    }
  }

  /** `overtaken`: something else was asked for meanwhile, and has an answer of its own. */
  async function goOn(to: OpencodeServer, place: Place, lookup = (lookups += 1)): Promise<Found> {
    const before = state.session?.id
    const session = await to.session(place)
    const messages =
      session && (await to.messages(place, LIMITS.opencode_bell_messages_max).catch(() => 'unread' as const))
    const newest_message = messages === 'unread' ? messages : (messages?.at(-1)?.info ?? null)
    const asked = state
    const busy = session !== null && (await to.isBusy(place))
    if (server !== to || lookup !== lookups) return 'overtaken'
    // What began meanwhile is newer.
    if (state.session !== null && state.session.id !== before) return 'found'
    const deleted = state.session === null && before === place.id
    if (session === null || deleted) return 'gone'
    const next = lookedUp(state, { session, newest_message, busy }, asked, clock.now())
    move(Array.isArray(messages) ? messagesRead(next, messages, identity) : next)
    // The end of that turn may come before the server tells of anything.
    if (busy) askAgain()
    return 'found'
  }
}

/** The outstanding doorbell. */
interface HeldBell {
  readonly doorbell_id: DoorbellId
  /** How long the session was idle since it was handed over, or since its last turn. */
  readonly idle_ms: number
  /** When it was last known to be idle; null while a turn runs or the server does not answer. */
  readonly idle_at_ms: number | null
  /** The stored prompt began no turn within `opencode_bell_lost_ms` and cannot be deleted. */
  readonly is_stuck: boolean
}

const NOT_IDLE = { idle_ms: 0, idle_at_ms: null }

/** Unknown time is not counted; the idle time counted before stays. */
const paused = (held: HeldBell | null) => held && { ...held, idle_at_ms: null }

/** The session is known to be idle now, and was since it was last known to be. */
const stillIdle = (held: HeldBell, now_ms: number): HeldBell => ({
  ...held,
  idle_ms: held.idle_ms + (held.idle_at_ms === null ? 0 : now_ms - held.idle_at_ms),
  idle_at_ms: now_ms,
})

/** The outstanding doorbell once the session is in `state`. */
function heldBy(state: TrackedSession, before: HeldBell | null, now_ms: number): HeldBell | null {
  const doorbell_id = outstanding(state)
  if (doorbell_id === null) return null
  const is_same = before?.doorbell_id === doorbell_id
  if (isRunning(state)) return { doorbell_id, ...NOT_IDLE, is_stuck: false }
  const held = is_same ? before : { doorbell_id, idle_ms: 0, idle_at_ms: now_ms, is_stuck: false }
  return state.turn === 'unknown' ? paused(held) : held
}

/** Some of it; it is kept until something new is said, so that it can be taken back. */
const isUndone = ({ revert = null }: Session) => revert !== null

type Found = 'found' | 'gone' | 'overtaken'

const PATIENCE_MS = {
  created: LIMITS.opencode_first_prompt_ms,
  begins: LIMITS.opencode_begin_ms,
  breaks: LIMITS.opencode_settle_ms,
}
