/**
 * The shim's side of surface.sock: serves the plugin's three functions to the daemon and carries the
 * surface's reports to it.
 *
 * The daemon may come and go; the shim stays with its surface. It dials for ever, and the first thing
 * it says on every new connection is where the surface stands: a daemon that was restarted knows
 * nothing, and a report that was lost with the old connection is repeated by this one.
 */
import { ReportAnswer, type RingResult, type SurfaceReport } from '../src/contracts/control.ts'
import { Doorbell } from '../src/contracts/doorbell.ts'
import { TurnbellError } from '../src/contracts/errors.ts'
import type { Json } from '../src/contracts/ids.ts'
import { LIMITS } from '../src/contracts/limits.ts'
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
  /** The connection to the daemon ended, whoever ended it. */
  onDetached?: () => void
}

export interface Shim extends SurfaceHost {
  /** Ends the connection and dials no more. */
  close(): void
}

const NO_BELL: ReportAnswer = { doorbell: null }

export function attachShim(options: ShimOptions): Shim {
  const { surface, clock, log } = options
  let peer: RpcPeer | null = null
  let retry: Timer | null = null
  /** The daemon had too much to do for a report: how we stand is said again. */
  let repeat: Timer | null = null
  let delay_ms: number = LIMITS.shim_reconnect_min_ms
  let closed = false

  async function dial(): Promise<void> {
    try {
      const dialled = await options.dial({
        onRequest: (method, params) => serve(surface, method, params),
        onClose: () => lost(dialled),
        onBug: (error, instance) => log.error({ err: error, instance }, 'the shim could not answer'),
      })
      if (closed) return dialled.close()
      peer = dialled
      log.info({}, 'attached to the daemon')
      await report(await surface.status())
    } catch (error) {
      // A refusal is the other side's last word on this connection only; a daemon may be on its way.
      log.debug({ err: error }, 'no daemon to attach to')
      if (peer === null) again()
    }
  }

  function lost(gone: RpcPeer): void {
    if (peer !== gone) return
    peer = null
    log.info({}, 'the daemon went away')
    options.onDetached?.()
    again()
  }

  function again(): void {
    if (closed || retry !== null) return
    retry = clock.after(delay_ms, () => {
      retry = null
      void dial()
    })
    delay_ms = Math.min(delay_ms * 2, LIMITS.shim_reconnect_max_ms)
  }

  function repeatLater(): void {
    repeat ??= clock.after(LIMITS.shim_reconnect_min_ms, () => {
      repeat = null
      // A new connection begins with it anyway.
      if (peer !== null) surface.status().then(report, unreported)
    })
  }

  const unreported = (error: unknown) => log.warn({ err: error }, 'the surface could not say where it stands')

  async function report(status: SurfaceReport): Promise<ReportAnswer> {
    if (peer === null) return NO_BELL
    const timeout_ms = status.take === true ? LIMITS.shim_take_ms : LIMITS.shim_answer_ms
    try {
      const answer = await peer.request('status', wire(status), timeout_ms)
      // Not with the connection: a daemon that has enough of them takes one more and ends it.
      delay_ms = LIMITS.shim_reconnect_min_ms
      return ReportAnswer.parse(answer)
    } catch (error) {
      // No bell is lost with it: the daemon holds that. Where we stand the next report tells it, or one of its own.
      log.warn({ err: error }, 'the daemon did not take the report')
      if (error instanceof TurnbellError && error.code === 'limit_reached') repeatLater()
      return NO_BELL
    }
  }

  void dial()
  return {
    report,
    close() {
      closed = true
      retry?.cancel()
      repeat?.cancel()
      peer?.close()
      peer = null
    },
  }
}

/** Exactly three functions; a bell that is not one never gets further. */
async function serve(surface: Surface, method: string, params: RpcParams): Promise<Json> {
  switch (method) {
    case 'notify_surface': {
      const doorbell = Doorbell.safeParse(params['doorbell'])
      if (!doorbell.success) {
        throw new TurnbellError('params_invalid', { detail: 'notify_surface needs a doorbell' })
      }
      const result: RingResult = await surface.notify_surface(doorbell.data)
      return result
    }
    case 'resume_surface':
      await surface.resume_surface()
      return {}
    case 'status':
      return wire(await surface.status())
    default:
      throw new TurnbellError('unknown_verb', {
        detail: `a shim has no method ${JSON.stringify(method.slice(0, 64))}`,
        hint: 'A shim knows notify_surface, resume_surface and status.',
      })
  }
}

/** What is undefined here is absent on the wire. */
function wire(status: SurfaceReport): RpcParams {
  return status as RpcParams
}
