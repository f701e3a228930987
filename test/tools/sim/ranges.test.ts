import { expect, test } from 'vitest'
import { numbersIn, rangesOf } from '../../sim/ranges.ts'

test('numbers are formatted so that they can be parsed again', () => {
  expect(rangesOf([1, 2, 3, 7, 9, 10])).toBe('1-3,7,9-10')
  expect(numbersIn('1-3,7,9-10')).toEqual([1, 2, 3, 7, 9, 10])
  expect(() => numbersIn('1-')).toThrow('"1-" is no range of numbers')
})

test('a range beyond the limit uses no memory', () => {
  expect(numbersIn('3-4', 4)).toEqual([3, 4])
  expect(() => numbersIn('3-5', 4)).toThrow('"3-5" goes beyond 4')
  expect(() => numbersIn('1-9007199254740991')).toThrow('"1-9007199254740991" goes beyond 10000000')
})
