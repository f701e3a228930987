/** Real randomness, and ULIDs that never go backwards. */
import { randomBytes, randomFillSync } from 'node:crypto'
import { decodeTime, monotonicFactory } from 'ulid'
import type { Clock } from '../ports/clock.ts'
import type { Ids, Random } from '../ports/random.ts'

/** What one number is made of; asking the system for so little costs more than all the rest of an id. */
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
