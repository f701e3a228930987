import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  boundedRanges,
  highestReceived,
  isReceived,
  missingRanges,
  RANGES_MAX,
  withReceived,
  type Range,
} from '../../../../src/modules/activity/received.ts'

test('ranges contain exactly the received numbers, in any order and with repeats', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 80 }), (numbers) => {
      let ranges: Range[] = []
      const known = new Set<number>()
      for (const seq of numbers) {
        expect(isReceived(ranges, seq)).toBe(known.has(seq))
        if (!known.has(seq)) ranges = withReceived(ranges, seq)
        known.add(seq)
      }
      const highest = Math.max(0, ...known)
      expect(highestReceived(ranges)).toBe(highest)
      const missing = missingRanges(ranges)
      const listed = missing.flatMap(([from, to]) =>
        Array.from({ length: to - from + 1 }, (_, at) => from + at),
      )
      const all = Array.from({ length: highest }, (_, at) => at + 1)
      expect(listed).toEqual(all.filter((seq) => !known.has(seq)))
      expect(all.filter((seq) => isReceived(ranges, seq))).toEqual(all.filter((seq) => known.has(seq)))
      for (const [index, [from, to]] of ranges.entries()) {
        expect(from).toBeLessThanOrEqual(to)
        expect(from).toBeGreaterThan((ranges[index - 1]?.[1] ?? -1) + 1)
      }
    }),
  )
})

test('too many gaps are given up, oldest first, and counted', () => {
  const ranges = Array.from({ length: RANGES_MAX + 2 }, (_, index): Range => [3 * index + 1, 3 * index + 1])
  const bounded = boundedRanges(ranges)
  expect(bounded.ranges).toHaveLength(RANGES_MAX)
  expect(bounded.ranges[0]).toEqual([1, 7])
  expect(bounded.given_up).toBe(4)
  expect(highestReceived(bounded.ranges)).toBe(highestReceived(ranges))
})
