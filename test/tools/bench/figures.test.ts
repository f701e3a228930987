import { expect, test } from 'vitest'
import { figure, interleave, percentile } from '../../../bench/report/figures.ts'

const pairs = [
  { value: 30, limit: 10 },
  { value: 400, limit: 400 },
  { value: 2, limit: 1 },
]

test('a figure is the round whose ratio is the median, not a mixture of rounds', () => {
  const { value, limit, ratio } = figure('x', 'us', '1: <= 1.5', pairs, () => [])
  expect({ value, limit, ratio }).toEqual({ value: 2, limit: 1, ratio: 2 })
})

test('the method of a figure contains its round and the spread of the others', () => {
  const { method } = figure('x', 'us', '1: <= 1.5', pairs, ({ value }) => [`value ${value}`])
  expect(method).toBe('value 2; median of 3 interleaved rounds, ratios 1 to 3')
})

test('the lower of the two middle rounds is used for an even number of rounds', () => {
  const { ratio } = figure('x', 'us', '1: <= 1.5', [...pairs, { value: 9, limit: 1 }], () => [])
  expect(ratio).toBe(2)
})

test('a figure without rounds is an error, not a number', () => {
  expect(() => figure('x', 'us', '1: <= 1.5', [], () => [])).toThrow('no round')
  expect(() => percentile([], 0.5)).toThrow('nothing')
})

test('the ratio is rounded, but not to the other side of its goal', () => {
  const ratioOf = (value: number) => figure('x', 'us', '1: <= 1.5', [{ value, limit: 1 }], () => []).ratio
  expect([ratioOf(1.234), ratioOf(1.501)]).toEqual([1.23, 1.501])
})

test('variants run once per round in alternating order', async () => {
  const order: string[] = []
  const say = (name: string) => async () => order.push(name)
  await interleave<{ a: number; b: number }>(3, { a: say('a'), b: say('b') })
  expect(order).toEqual(['a', 'b', 'b', 'a', 'a', 'b'])
})
