/** System randomness, and monotonic ULIDs. */
import { randomBytes, randomFillSync } from 'node:crypto'
import { decodeTime, monotonicFactory } from 'ulid'
import type { Clock } from '../ports/clock.ts'
import type { Ids, Random } from '../ports/random.ts'

/**
 * Size of one number. They are taken from a buffer, because a system call for so few bytes costs more than the rest of
 * an id.
 */
const NUMBER_BYTES = 6
const pool = Buffer.alloc(NUMBER_BYTES * 512)
let drawn = pool.length

export const systemRandom: Random = {
  next() {
    if (drawn === pool.length) {
      randomFillSync(pool)
      drawn = 0
    }
    const value = pool.readUIntBE(drawn, NUMBER_BYTES) / 2 ** 48
    drawn += NUMBER_BYTES
    return value
  },
  bytes: (count) => randomBytes(count),
}

/**
 * One factory a process, because `ulid()` alone is not monotonic within a millisecond. The time passed to it never
 * decreases: after a clock step back, ids are slightly ahead of the clock instead of out of order.
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
