/** The system clock. */
import type { Clock, Timer } from '../ports/clock.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delay_ms, call): Timer {
    const handle = setTimeout(call, delay_ms)
    return { cancel: () => clearTimeout(handle) }
  },
  every(interval_ms, call): Timer {
    const handle = setInterval(call, interval_ms)
    return { cancel: () => clearInterval(handle) }
  },
  soon: (call) => void setImmediate(call),
}
