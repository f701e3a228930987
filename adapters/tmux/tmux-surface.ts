/**
 * A client in a tmux pane as a surface: reads its turns from the screen and rings by typing. The last resort: keys are
 * sent only at a recognized empty prompt. The daemon decides whether a doorbell is due.
 */
import { PaneGoneError, type Pane } from './pane.ts'
import { paneReader } from './pane-reader.ts'
import { isInterrupted, outstanding, startTracking, type TrackedPane } from './pane-tracker.ts'
import { paneRinger } from './ring.ts'
import { statusReporter } from '../status-reporter.ts'
import { DEFERRED, FAILED, pushStatus, UNAVAILABLE } from '../surface-results.ts'
import { trackedState } from '../tracked-state.ts'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

/** One line without a special meaning in any composer: no command, no shell, no file reference. */
const TYPEABLE = /^\[[\x20-\x7e]+\)$/

export interface TmuxSurface extends Surface {
  /** Starts reading the screen. */
  open(host: SurfaceHost): void
  close(): void
}

export function tmuxSurface({ pane, clock, log }: { pane: Pane; clock: Clock; log: Log }): TmuxSurface {
  const tracked = trackedState(startTracking(clock.now()))
  const status = () => statusOf(tracked.state())
  const reporter = statusReporter(status)
  tracked.onMove(reporter.reportChange)
  const reader = paneReader({ pane, tracked, clock, log })
  const ringer = paneRinger({ pane, tracked, reader, clock, log })
  let read_timer: Timer | null = null
  let ringing = false
  let closed = false

  function scheduleRead(): void {
    if (closed) return
    const { turn, reading } = tracked.state()
    const quiet = turn === 'idle' || reading === null
    read_timer = clock.after(quiet ? LIMITS.tmux_quiet_look_ms : LIMITS.tmux_look_ms, () => {
      if (ringing) return scheduleRead()
      void reader.readNext().then(scheduleRead)
    })
  }

  return {
    status: async () => status(),

    async notify_surface(doorbell): Promise<RingResult> {
      if (ringing) return DEFERRED
      if (!TYPEABLE.test(doorbell.text)) {
        log.error({ doorbell_id: doorbell.doorbell_id }, 'doorbell is not a single line of printable ASCII')
        return FAILED
      }
      ringing = true
      try {
        return await ringer.ring(doorbell)
      } catch (error) {
        log.warn({ err: error, doorbell_id: doorbell.doorbell_id }, 'pane could not be rung')
        reader.handleFailure(error)
        return error instanceof PaneGoneError ? UNAVAILABLE : FAILED
      } finally {
        ringing = false
      }
    },

    async resume_surface() {
      pane.forget()
      if (!ringing) await reader.readNext(true)
      reporter.report()
    },

    open(daemon) {
      reporter.open(daemon)
      void reader.readNext().then(scheduleRead)
    },

    close() {
      closed = true
      read_timer?.cancel()
      reporter.close()
    },
  }
}

function statusOf(state: TrackedPane): SurfaceStatus {
  const facts = { outstanding_doorbell_id: outstanding(state), interrupted: isInterrupted(state) }
  // The screen does not show the client's session id. Without one every drain counts as the rung agent's.
  return pushStatus('tmux', null, { ...state, ...facts }, state.has_client)
}
