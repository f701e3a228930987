/** A clock that stands still until it is told to move. */
import type { Clock, Timer } from '../../src/ports/clock.ts'

export interface ManualClock extends Clock {
  /** Moves on, calling what falls due on the way, each at its own moment. */
  pass(ms: number): void
  /** Moves the wall clock alone, as setting it or a sleeping machine does. */
  jump(ms: number): void
  /** Timers that have not fired and were not cancelled. */
  armed(): number
}

interface Pending {
  at: number
  interval_ms: number | null
  call: () => void
}

export function manualClock(start_ms = Date.UTC(2026, 0, 31)): ManualClock {
  let elapsed = 0
  let skew = 0
  const pending = new Set<Pending>()

  function arm(delay_ms: number, interval_ms: number | null, call: () => void): Timer {
    const entry: Pending = { at: elapsed + Math.max(delay_ms, 0), interval_ms, call }
    pending.add(entry)
    return { cancel: () => void pending.delete(entry) }
  }

  function nextDue(until: number): Pending | null {
    let next: Pending | null = null
    for (const entry of pending) {
      if (entry.at <= until && (next === null || entry.at < next.at)) next = entry
    }
    return next
  }

  return {
    now: () => start_ms + elapsed + skew,
    monotonic: () => elapsed,
    after: (delay_ms, call) => arm(delay_ms, null, call),
    every: (interval_ms, call) => arm(interval_ms, interval_ms, call),
    soon: (call) => void arm(0, null, call),
    pass(ms) {
      const until = elapsed + ms
      for (let due = nextDue(until); due !== null; due = nextDue(until)) {
        elapsed = due.at
        if (due.interval_ms === null) pending.delete(due)
        else due.at += due.interval_ms
        due.call()
      }
      elapsed = until
    },
    jump: (ms) => void (skew += ms),
    armed: () => pending.size,
  }
}
