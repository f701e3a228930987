import { LIMITS } from '../src/contracts/limits.ts'
import type { Clock } from '../src/ports/clock.ts'

/** Between the starts of a server that keeps ending: none, then a second, doubled each time up to a minute. */
export interface ServerRest {
  /** It may be started. */
  isOver(): boolean
  /** Answers how long it is left alone, in milliseconds, should it end soon. */
  started(): number
  /** Somebody waits for it. */
  forget(): void
}

export function serverRest(clock: Pick<Clock, 'monotonic'>): ServerRest {
  let started_at: number | null = null
  let rest_ms = 0
  return {
    isOver: () => started_at === null || clock.monotonic() - started_at >= rest_ms,
    started() {
      const now = clock.monotonic()
      const lasted = started_at === null || now - started_at >= LIMITS.shim_stable_ms + rest_ms
      const longer = Math.min(LIMITS.shim_restart_max_ms, Math.max(LIMITS.shim_restart_min_ms, rest_ms * 2))
      rest_ms = lasted ? 0 : longer
      started_at = now
      return rest_ms
    },
    forget() {
      started_at = null
    },
  }
}
