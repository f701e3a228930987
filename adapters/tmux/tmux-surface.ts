/**
 * A client in a tmux pane as a surface: reads its turns off the screen, and rings by typing. The last
 * resort: whatever is not certainly an empty prompt is left alone. Whether a bell is due is the daemon's
 * decision.
 */
import { PaneGone, type Pane } from './pane.ts'
import {
  adrift,
  clientGone,
  isInterrupted,
  looked,
  outstanding,
  startTracking,
  type TrackedPane,
} from './pane-tracker.ts'
import { paneRinger, type Seen, type Tracked } from './ring.ts'
import { readScreen, type TmuxClient } from './screen.ts'
import { DEFERRED, FAILED, pushStatus, saysMore, UNAVAILABLE } from '../surface-words.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

/** One line that means nothing to any composer: no command, no shell, no file. */
const TYPEABLE = /^\[[\x20-\x7e]+\)$/

export interface TmuxSurface extends Surface {
  /** Begins to look. */
  open(host: SurfaceHost): void
  close(): void
}

export function tmuxSurface(deps: { pane: Pane; clock: Clock; log: Log }): TmuxSurface {
  const { pane, clock, log } = deps
  let state = startTracking(clock.now())
  let host: SurfaceHost | null = null
  let looking: Timer | null = null
  let ringing = false
  let closed = false
  /** The look that is being taken: one after the other, or an older one would count as news. */
  let underway = Promise.resolve()
  /** Whose pane it is, as long as its program is the same. */
  let known: { program: string; client: TmuxClient } | null = null
  /** Since when the client has shown no composer, as far as nobody has asked since whether it is there. */
  let strange_since: number | null = null
  /** Why nobody can be rung, so that it is told once. */
  let absent: string | null = null
  /** Why the last look failed, so that it is told once. */
  let unseen: string | null = null
  const tracked: Tracked = {
    ...{ move, glance, see },
    state: () => state,
    settled: () => underway,
  }
  const ringer = paneRinger({ pane, tracked, clock, log })

  // The screen does not name the client's session. Without a name every drain counts as the rung agent's.
  const status = () => {
    const facts = { outstanding_doorbell_id: outstanding(state), interrupted: isInterrupted(state) }
    return pushStatus('tmux', null, { ...state, ...facts }, state.client_there)
  }

  function move(next: TrackedPane): void {
    const told = status()
    state = next
    if (saysMore(told, status())) void host?.report(status())
  }

  /** Null where no known client holds the pane. Asks again whose it is where the program is another one. */
  async function glance(afresh = false): Promise<Seen | null> {
    const look = await pane.look()
    const program = `${look.pane_id} ${look.pane_pid} ${look.command}`
    if (afresh || known?.program !== program || isStrange()) {
      strange_since = null
      const client = await pane.client(look)
      known = client === null ? null : { program, client }
      if (client !== null) log.info({ client, pane: look.pane_id }, 'found the client in its pane')
    }
    unseen = null
    if (known === null) {
      lost(`${look.command} is no client that is known here`)
      return null
    }
    absent = null
    const reading = readScreen(known.client, look)
    strange_since = reading.draft === null ? (strange_since ?? clock.monotonic()) : null
    return { look, reading }
  }

  function isStrange(): boolean {
    return strange_since !== null && clock.monotonic() - strange_since >= LIMITS.tmux_strange_ms
  }

  function lost(why: string): void {
    if (why !== absent) log.warn({}, `nobody to ring: ${why}`)
    absent = why
    known = null
    move(clientGone(state))
  }

  /** A glance that the turn is judged by. */
  async function see(afresh = false): Promise<Seen | null> {
    const seen = await glance(afresh)
    if (seen !== null) move(looked(state, seen.reading, clock.monotonic(), ringer.isOurs(seen.reading)))
    return seen
  }

  async function keepUp(afresh: boolean): Promise<void> {
    try {
      await see(afresh)
    } catch (error) {
      broke(error)
    }
  }

  const keepUpNext = (afresh = false) => (underway = underway.then(() => keepUp(afresh)))

  /** What is not seen may be a turn. */
  function broke(error: unknown): void {
    if (error instanceof PaneGone) return lost(error.message)
    const why = String(error)
    log[why === unseen ? 'debug' : 'warn']({ err: error }, 'the pane could not be looked at')
    unseen = why
    move(adrift(state))
  }

  function lookAgain(): void {
    if (closed) return
    const quiet = state.turn === 'idle' || state.last === null
    looking = clock.after(quiet ? LIMITS.tmux_quiet_look_ms : LIMITS.tmux_look_ms, () => {
      if (ringing) return lookAgain()
      void keepUpNext().then(lookAgain)
    })
  }

  return {
    status: async () => status(),

    async notify_surface(doorbell): Promise<RingResult> {
      if (ringing) return DEFERRED
      if (!TYPEABLE.test(doorbell.text)) {
        log.error({ doorbell_id: doorbell.doorbell_id }, 'the doorbell is not one line of plain characters')
        return FAILED
      }
      ringing = true
      try {
        return await ringer.ring(doorbell)
      } catch (error) {
        log.warn({ err: error, doorbell_id: doorbell.doorbell_id }, 'the pane could not be rung')
        broke(error)
        return error instanceof PaneGone ? UNAVAILABLE : FAILED
      } finally {
        ringing = false
      }
    },

    async resume_surface() {
      pane.forget()
      if (!ringing) await keepUpNext(true)
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
      void keepUpNext().then(lookAgain)
    },

    close() {
      closed = true
      looking?.cancel()
      host = null
    },
  }
}
