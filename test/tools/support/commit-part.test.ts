import { expect, test } from 'vitest'
import { itemsOf, partIn, partOfCommit } from '../../support/command/commit-part.mjs'

test('the parts of a list are disjoint and together the list', () => {
  const items = Array.from({ length: 12 }, (_, index) => index)
  const parts = [1, 2, 3, 4, 5].map((number) => itemsOf(items, { number, of: 5 }))
  expect(parts.flat().toSorted((a, b) => a - b)).toEqual(items)
  expect(parts[1]).toEqual([1, 6, 11])
})

test('a commit always selects the same part', () => {
  const part = partOfCommit(5)
  expect([1, 2, 3, 4, 5]).toContain(part)
  expect(partOfCommit(5)).toBe(part)
})

test.each(['', '3', '0/5', '6/5', '1/0', '-1/5', '1/5/5', 'a/b'])('%j is not a part', (text) => {
  expect(() => partIn(text)).toThrow('is not a part such as 2/5')
})

test('a part is a number and a total', () => {
  expect(partIn('2/5')).toEqual({ number: 2, of: 5 })
})
