import { expect, test } from 'vitest'
import type { Goal } from '../../../bench/report/figures.ts'
import { boundOf, met, shareOf, shownRatio } from '../../../bench/report/verdict.mjs'

test.each([
  ['1: <= 1.5', 1.5, true],
  ['1: <= 1.5', 1.501, false],
  ['2: >= 0.75', 0.75, true],
  ['2: >= 0.75', 0.749, false],
] as const)('goal %s with ratio %d is met: %s, independent of rounding', (goal, value, expected) => {
  expect(met({ value, limit: 1, goal })).toBe(expected)
})

test('a figure without a goal passes, and a skipped one fails', () => {
  expect(met({ value: 3, limit: 1, goal: null })).toBe(true)
  expect(met({ value: null, limit: null, goal: '4: >= 1' })).toBe(false)
})

test.each<[value: number, limit: number, goal: Goal | null, shown: string]>([
  [333, 264, '1: <= 1.5', '1.26'],
  [3, 2, '1: <= 1.5', '1.50'],
  [55.22, 39.42, '10: <= 1.4', '1.401'],
  [25_320, 63_840, '11: >= 0.4', '0.397'],
  [1.300_04, 1, '13: <= 1.3', '1.30004'],
  [39_999, 10_000, '3: >= 4', '3.9999'],
  [1.4001, 1, null, '1.40'],
  [0.1667, 100, '10: <= 0.005', '0.0017'],
  [0.005_001, 1, '10: <= 0.005', '0.005001'],
  // The two numbers adjacent to the bound.
  [1.4 + Number.EPSILON, 1, '10: <= 1.4', '1.4000000000000001'],
  [0.4 - Number.EPSILON / 4, 1, '11: >= 0.4', '0.39999999999999997'],
])('%d of %d with goal %s is displayed on the side of its result', (value, limit, goal, shown) => {
  expect(shownRatio({ value, limit, goal })).toBe(shown)
  expect(met({ value: Number(shown), limit: 1, goal })).toBe(met({ value, limit, goal }))
})

test('a share below 1 is better than the goal, in either direction', () => {
  const share = (value: number, goal: Goal) => shareOf({ value, limit: 1 }, boundOf({ goal })!)
  expect([share(1, '1: <= 2'), share(4, '3: >= 2'), share(1, '3: >= 2')]).toEqual([0.5, 0.5, 2])
})
