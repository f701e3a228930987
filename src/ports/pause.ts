import type { Clock } from './clock.ts'

/** Resolves after so many milliseconds of that clock, or as soon as `abort` says so: who cares which looks at it. */
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
