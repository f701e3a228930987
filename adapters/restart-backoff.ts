/** Limits how often a shim restarts a server of Codex or opencode that keeps exiting. */
import { LIMITS } from '../src/contracts/limits/limits.ts'
import type { Clock } from '../src/ports/clock.ts'

/** Restart delay of a server that keeps exiting: none, then one second, doubled each time up to one minute. */
export interface RestartBackoff {
  /** Whether the server may be started now. */
  isReady(): boolean
  /** Records a start. Returns the delay in milliseconds that applies if the server exits soon. */
  started(): number
  /** Allows a start at once, because a person waits for the server. */
  reset(): void
}

export function restartBackoff(clock: Pick<Clock, 'monotonic'>): RestartBackoff {
  let started_at: number | null = null
  let delay_ms = 0
  return {
    isReady: () => started_at === null || clock.monotonic() - started_at >= delay_ms,
    started() {
      const now = clock.monotonic()
      const was_stable = started_at === null || now - started_at >= LIMITS.shim_stable_ms + delay_ms
      const doubled_ms = Math.min(
        LIMITS.shim_restart_max_ms,
        Math.max(LIMITS.shim_restart_min_ms, delay_ms * 2),
      )
      delay_ms = was_stable ? 0 : doubled_ms
      started_at = now
      return delay_ms
    },
    reset() {
      started_at = null
    },
  }
}
