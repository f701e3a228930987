/** Keeps the shim of a surface running: starts it, starts it again, stops it. */
import { LIMITS } from '../contracts/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

/** A running shim, as `system/child-process.ts` makes it. */
export interface ShimProcess {
  pid: number | undefined
  stop(how: 'ask' | 'kill'): void
}
/** Starts the shim; `onExit` is called once, also when it could not be started. */
export type StartShim = (onExit: (code: number | null, reason: string) => void) => ShimProcess

export interface Supervisor {
  start(): void
  /** Does not wait for the rest of a backoff. */
  hurry(): void
  /** Asks the shim to stop, makes it after `shim_stop_grace_ms`; resolves when it is gone. */
  stop(): Promise<void>
  /** How often a shim that ended was started again. */
  restarts(): number
}

export function createSupervisor(
  startShim: StartShim,
  clock: Pick<Clock, 'after' | 'monotonic'>,
  log: Log,
): Supervisor {
  let running: ShimProcess | null = null
  let waiting: Timer | null = null
  let stopping = false
  let restarts = 0
  let failures = 0
  let onGone = (): void => {}

  function launch(): void {
    waiting = null
    const started_at = clock.monotonic()
    running = startShim((code, reason) => {
      running = null
      onGone()
      if (stopping) return
      // Stable for a while: what ended it now is a new trouble, not the old one again.
      if (clock.monotonic() - started_at >= LIMITS.shim_stable_ms) failures = 0
      const delay_ms = Math.min(LIMITS.shim_restart_max_ms, LIMITS.shim_restart_min_ms * 2 ** failures)
      failures = Math.min(failures + 1, 30)
      log.warn({ code, reason, delay_ms }, 'the shim ended; it is started again')
      waiting = clock.after(delay_ms, relaunch)
    })
    log.info({ shim_pid: running.pid }, 'the shim was started')
  }

  function relaunch(): void {
    restarts += 1
    launch()
  }

  return {
    start: launch,
    hurry() {
      if (waiting === null || stopping) return
      waiting.cancel()
      relaunch()
    },
    stop() {
      stopping = true
      waiting?.cancel()
      const shim = running
      if (shim === null) return Promise.resolve()
      return new Promise((resolve) => {
        const kill = clock.after(LIMITS.shim_stop_grace_ms, () => shim.stop('kill'))
        onGone = () => {
          kill.cancel()
          resolve()
        }
        shim.stop('ask')
      })
    },
    restarts: () => restarts,
  }
}
