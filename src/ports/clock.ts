/** Time and timers. Nothing outside `system/` reads the real clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May step back when the machine's clock is set. */
  now(): number
  /** Milliseconds that never step back, from an arbitrary origin; for ages and deadlines. */
  monotonic(): number
  /** Calls once after `delay_ms`, never in this turn of the loop. The handle cancels it. */
  after(delay_ms: number, call: () => void): Timer
  /** Calls every `interval_ms` until cancelled. */
  every(interval_ms: number, call: () => void): Timer
  /** Calls after the I/O of this turn of the loop: what group commit waits for. */
  soon(call: () => void): void
}

export const DAY_MS = 86_400_000

export interface Timer {
  cancel(): void
}

/** The one spelling of a time: ISO 8601, UTC, milliseconds. */
export function timestamp(clock: Pick<Clock, 'now'>): string {
  const now = clock.now()
  // A call is told of several times within its millisecond.
  if (now !== spelled.now) spelled = { now, text: new Date(now).toISOString() }
  return spelled.text
}

let spelled = { now: 0, text: new Date(0).toISOString() }
