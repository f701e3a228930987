/** Supervises the shim of a surface: starts, restarts and stops it. */
import { SHIM_STARTED } from '../contracts/clients/agent-log.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

/** A running shim, as created by `system/process/supervised-child.ts`. */
export interface ShimProcess {
  pid: number | undefined
  stop(how: 'ask' | 'kill'): void
}
/** Starts the shim; `onExit` is called once, also if it could not be started. */
export type StartShim = (onExit: (code: number | null, reason: string) => void) => ShimProcess

export interface Supervisor {
  start(): void
  /** Restarts a shim that has ended without waiting for the backoff. */
  restartNow(): void
  /** Asks the shim to stop, and kills it after `shim_stop_grace_ms`; resolves when it has exited. */
  stop(): Promise<void>
  /** Number of restarts. */
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
  let onExited = (): void => {}

  function launch(): void {
    waiting = null
    const started_at = clock.monotonic()
    running = startShim((code, reason) => {
      running = null
      onExited()
      if (stopping) return
      // After running for `shim_stable_ms`, an exit counts as a new problem.
      if (clock.monotonic() - started_at >= LIMITS.shim_stable_ms) failures = 0
      const delay_ms = Math.min(LIMITS.shim_restart_max_ms, LIMITS.shim_restart_min_ms * 2 ** failures)
      failures = Math.min(failures + 1, 30)
      log.warn({ code, reason, delay_ms }, 'shim exited; restart scheduled')
      waiting = clock.after(delay_ms, relaunch)
    })
    log.info({ shim_pid: running.pid }, SHIM_STARTED)
  }

  function relaunch(): void {
    restarts += 1
    launch()
  }

  return {
    start: launch,
    restartNow() {
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
        onExited = () => {
          kill.cancel()
          resolve()
        }
        shim.stop('ask')
      })
    },
    restarts: () => restarts,
  }
}
