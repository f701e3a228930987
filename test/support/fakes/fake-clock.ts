/** A clock that advances only when a test moves it. */
import type { Clock, Timer } from '../../../src/ports/clock.ts'
import type { Random } from '../../../src/ports/random.ts'

export interface FakeClock extends Clock {
  /**
   * Advances time and runs every due timer in order. Promises that a timer started are settled before the next timer
   * runs.
   */
  advance(ms: number): Promise<void>
  /** Sets the machine's clock: `now` jumps, `monotonic` does not. */
  setBack(ms: number): void
  /** Returns the number of armed timers, to detect leaks. */
  armed(): number
  /** Returns the time until the next timer, in milliseconds; null if none is armed. */
  nextIn(): number | null
}

interface Armed {
  due: number
  order: number
  interval_ms: number | null
  call: () => void
}

export const START = Date.parse('2026-03-01T12:00:00.000Z')

export function fakeClock(start = START): FakeClock {
  let elapsed = 0
  let offset = start
  let order = 0
  const timers = new Set<Armed>()

  const arm = (delay_ms: number, interval_ms: number | null, call: () => void): Timer => {
    const timer: Armed = { due: elapsed + Math.max(0, delay_ms), order: order++, interval_ms, call }
    timers.add(timer)
    return { cancel: () => void timers.delete(timer) }
  }
  const nextDue = (until: number): Armed | undefined =>
    [...timers].filter(({ due }) => due <= until).sort((a, b) => a.due - b.due || a.order - b.order)[0]

  return {
    now: () => offset + elapsed,
    monotonic: () => elapsed,
    after: (delay_ms, call) => arm(delay_ms, null, call),
    every: (interval_ms, call) => arm(interval_ms, interval_ms, call),
    // Does not depend on time: runs at the end of this tick of the event loop.
    soon: (call) => void setImmediate(call),
    async advance(ms) {
      const until = elapsed + ms
      for (let timer = nextDue(until); timer; timer = nextDue(until)) {
        elapsed = Math.max(elapsed, timer.due)
        if (timer.interval_ms === null) timers.delete(timer)
        else timer.due += timer.interval_ms
        timer.call()
        await atRest()
      }
      elapsed = until
      await atRest()
    },
    setBack: (ms) => void (offset -= ms),
    armed: () => timers.size,
    nextIn: () => {
      const next = nextDue(Infinity)
      return next === undefined ? null : next.due - elapsed
    },
  }
}

/** Resolves when all pending promises are settled. */
export async function atRest(): Promise<void> {
  for (let tick = 0; tick < 3; tick++) await new Promise<void>((rested) => setImmediate(rested))
}

/** Returns a reproducible sequence for each seed. Source: xorshift32, G. Marsaglia, "Xorshift RNGs", 2003. */
export function seededRandom(seed = 1): Random {
  // Zero is a fixed point of xorshift.
  let state = seed >>> 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  return { next, bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(next() * 256)) }
}

/**
 * Waiting on this clock takes no real time: each timer fires in the next tick of the event loop and advances the clock.
 */
export function eagerClock(start = START): Clock {
  let elapsed = 0
  const after: Clock['after'] = (delay_ms, call) => {
    const timer = setImmediate(() => {
      elapsed += delay_ms
      call()
    })
    return { cancel: () => clearImmediate(timer) }
  }
  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    after,
    every: () => {
      throw new Error('an eager clock has no intervals')
    },
    soon: (call) => void setImmediate(call),
  }
}
