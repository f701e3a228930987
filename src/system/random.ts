/** Real randomness, and ULIDs that never go backwards. */
import { randomBytes } from 'node:crypto'
import { decodeTime, monotonicFactory } from 'ulid'
import type { Clock } from '../ports/clock.ts'
import type { Ids, Random } from '../ports/random.ts'

export const systemRandom: Random = {
  next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  bytes: (count) => randomBytes(count),
}

/**
 * One factory a process: `ulid()` alone is out of order inside a millisecond. The time handed to the
 * factory never decreases, so a clock that steps back makes ids that are a little ahead of it instead
 * of ids that sort wrongly.
 */
export function createIds(clock: Pick<Clock, 'now'>, random: Random): Ids {
  const make = monotonicFactory(() => random.next())
  let floor_ms = 0
  return {
    next() {
      floor_ms = Math.max(floor_ms, clock.now())
      return make(floor_ms)
    },
    startAfter(id) {
      floor_ms = Math.max(floor_ms, decodeTime(id) + 1)
    },
  }
}
