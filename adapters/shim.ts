/**
 * The shim's side of surface.sock: serves the three functions of a surface to the daemon and sends the
 * surface's reports to it.
 *
 * The daemon may restart while the shim stays with its surface. The shim redials without end and sends a full
 * status on every new connection: a restarted daemon has no state, and a report may have been lost with the
 * previous connection.
 */
import { ReportAnswer, type RingResult, type SurfaceReport } from '../src/contracts/control.ts'
import { Doorbell } from '../src/contracts/doorbell.ts'
import { TurnbellError } from '../src/contracts/errors/errors.ts'
import type { Json } from '../src/contracts/ids.ts'
import { LIMITS } from '../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../src/ports/clock.ts'
import type { Log } from '../src/ports/log.ts'
import type { RpcHandlers, RpcParams, RpcPeer } from '../src/ports/rpc.ts'
import type { Surface, SurfaceHost } from '../src/ports/surface.ts'

export interface ShimOptions {
  surface: Surface
  /** Connects to surface.sock. Rejects where no daemon listens. */
  dial: (handlers: RpcHandlers) => Promise<RpcPeer>
  clock: Pick<Clock, 'after'>
  log: Log
  /** Called when the connection to the daemon has ended on either side. */
  onDetached?: () => void
}

export interface Shim extends SurfaceHost {
  /** Closes the connection and stops redialling. */
  close(): void
}

const NO_DOORBELL: ReportAnswer = { doorbell: null }

export function attachShim(options: ShimOptions): Shim {
  const { surface, clock, log } = options
  let peer: RpcPeer | null = null
  let redial_timer: Timer | null = null
  /** Sends the status again after the daemon rejected a report with `limit_reached`. */
  let report_timer: Timer | null = null
  let delay_ms: number = LIMITS.shim_reconnect_min_ms
  let closed = false

  async function dial(): Promise<void> {
    try {
      const connected = await options.dial({
        onRequest: (method, params) => serve(surface, method, params),
        onClose: () => onLost(connected),
        onBug: (error, instance) => log.error({ err: error, instance }, 'shim request failed'),
      })
      if (closed) return connected.close()
      peer = connected
      log.info({}, 'attached to daemon')
      await report(await surface.status())
    } catch (error) {
      // A refused connection is retried, because a daemon may be starting.
      log.debug({ err: error }, 'daemon not reachable')
      if (peer === null) redialLater()
    }
  }

  function onLost(closed_peer: RpcPeer): void {
    if (peer !== closed_peer) return
    peer = null
    log.info({}, 'daemon connection lost')
    options.onDetached?.()
    redialLater()
  }

  function redialLater(): void {
    if (closed || redial_timer !== null) return
    redial_timer = clock.after(delay_ms, () => {
      redial_timer = null
      void dial()
    })
    delay_ms = Math.min(delay_ms * 2, LIMITS.shim_reconnect_max_ms)
  }

  function reportLater(): void {
    report_timer ??= clock.after(LIMITS.shim_reconnect_min_ms, () => {
      report_timer = null
      // Otherwise the next connection starts with a report.
      if (peer === null) return
      surface.status().then(report, (error: unknown) => log.warn({ err: error }, 'surface status failed'))
    })
  }

  async function report(status: SurfaceReport): Promise<ReportAnswer> {
    if (peer === null) return NO_DOORBELL
    try {
      const answer = await sendReport(peer, status)
      // Reset only after an answer: a daemon at its connection limit accepts one more and closes it.
      delay_ms = LIMITS.shim_reconnect_min_ms
      return ReportAnswer.parse(answer)
    } catch (error) {
      // No doorbell is lost, because the daemon keeps it. The next report or status request carries the turn.
      log.warn({ err: error }, 'report to the daemon failed')
      if (error instanceof TurnbellError && error.code === 'limit_reached') reportLater()
      return NO_DOORBELL
    }
  }

  void dial()
  return {
    report,
    close() {
      closed = true
      redial_timer?.cancel()
      report_timer?.cancel()
      peer?.close()
      peer = null
    },
  }
}

/** Calls one of the three functions. An invalid doorbell is rejected here. */
async function serve(surface: Surface, method: string, params: RpcParams): Promise<Json> {
  switch (method) {
    case 'notify_surface': {
      const doorbell = Doorbell.safeParse(params['doorbell'])
      if (!doorbell.success) {
        throw new TurnbellError('params_invalid', { detail: 'notify_surface got no valid doorbell' })
      }
      const result: RingResult = await surface.notify_surface(doorbell.data)
      return result
    }
    case 'resume_surface':
      await surface.resume_surface()
      return {}
    case 'status':
      return toWire(await surface.status())
    default:
      throw new TurnbellError('unknown_verb', {
        detail: `a shim has no method ${JSON.stringify(method.slice(0, 64))}`,
        hint: 'Call notify_surface, resume_surface or status.',
      })
  }
}

/** Returns the unvalidated answer. Rejects if the daemon does not answer in time. */
function sendReport(peer: RpcPeer, status: SurfaceReport): Promise<unknown> {
  const timeout_ms = status.take === true ? LIMITS.shim_take_ms : LIMITS.shim_answer_ms
  return peer.request('status', toWire(status), timeout_ms)
}

/** Undefined fields are absent on the wire. */
function toWire(status: SurfaceReport): RpcParams {
  return status as RpcParams
}
