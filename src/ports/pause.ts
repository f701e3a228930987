/** Waiting on the port clock. */
import type { Clock } from './clock.ts'

/** Resolves after `delay_ms`, or when `abort` is signalled. */
export function pause(clock: Pick<Clock, 'after'>, delay_ms: number, abort?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (abort?.aborted === true) return resolve()
    const done = () => {
      timer.cancel()
      abort?.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(delay_ms, done)
    abort?.addEventListener('abort', done, { once: true })
  })
}

/**
 * Calls `call` after this number of ticks of the event loop. After two, everything that had arrived before this call has
 * been read. One is not enough, because the current tick may already be past its poll phase.
 */
export function afterTicks(clock: Pick<Clock, 'soon'>, ticks: number, call: () => void): void {
  if (ticks === 0) return call()
  clock.soon(() => afterTicks(clock, ticks - 1, call))
}
