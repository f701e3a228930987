/** Time and timers. Only `system/` reads the real clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May step back when the machine's clock is set. */
  now(): number
  /** Milliseconds from an arbitrary origin that never step back; for ages and deadlines. */
  monotonic(): number
  /** Calls once after `delay_ms`, never in this tick of the event loop. The returned timer cancels it. */
  after(delay_ms: number, call: () => void): Timer
  /** Calls every `interval_ms` until cancelled. */
  every(interval_ms: number, call: () => void): Timer
  /** Calls after the I/O of this tick of the event loop; used by group commit. */
  soon(call: () => void): void
}

export const DAY_MS = 86_400_000

export interface Timer {
  cancel(): void
}

/** Returns the current time as text: ISO 8601, UTC, milliseconds. */
export function timestamp(clock: Pick<Clock, 'now'>): string {
  const now = clock.now()
  // Cached, because one call uses the time several times within a millisecond.
  if (now !== cached.now) cached = { now, text: new Date(now).toISOString() }
  return cached.text
}

let cached = { now: 0, text: new Date(0).toISOString() }
