/** The delay before a daemon reconnects to its hub. */
import { LIMITS } from '../../contracts/limits/limits.ts'

/**
 * How long to wait before the next attempt, in milliseconds. "Full jitter" of Marc Brooker, "Exponential
 * Backoff And Jitter" (AWS Architecture Blog, 2015): uniform up to an exponentially growing cap, so that
 * fifty daemons that lost one hub do not come back together. The lower end is not 0 but the minimum: no
 * hub is back in less.
 *
 * `attempt` counts failures since the last success, 0 for the first; `random` is in [0, 1).
 */
export function reconnectDelay(attempt: number, random: number): number {
  const { reconnect_min_ms: min, reconnect_max_ms: max } = LIMITS
  const cap = Math.min(max, min * 2 ** (Math.min(attempt, 30) + 1))
  return Math.round(min + random * (cap - min))
}
