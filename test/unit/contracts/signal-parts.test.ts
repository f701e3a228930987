import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { inPart, partsOf, writtenBytes } from '../../../src/contracts/signal-parts.ts'

const signal = (payload: Parameters<typeof partsOf>[0]) => ({
  signal_id: '01JZ0000000000000000000000',
  payload,
})

describe('the parts of a payload', () => {
  test.each([
    ['plain text', 'words '.repeat(10_000)],
    ['text that is written longer as JSON', '"\n'.repeat(20_000)],
    ['text with characters of two halves', '🔔'.repeat(12_000)],
    ['an object', { list: Array.from({ length: 5_000 }, (_, index) => `item ${index}`) }],
  ])('of %s are its whole text, each within the bound', (_, payload) => {
    const parts = partsOf(payload)
    expect(parts.length).toBeGreaterThan(1)
    expect(parts.join('')).toBe(typeof payload === 'string' ? payload : JSON.stringify(payload))
    expect(Math.max(...parts.map(writtenBytes))).toBeLessThanOrEqual(LIMITS.signal_part_bytes)
  })

  test('of a small payload are one', () => {
    expect(partsOf('hello')).toEqual(['hello'])
    expect(partsOf('')).toEqual([''])
  })
})

test('each part names how to get the next, and the last does not', () => {
  const large = signal('x'.repeat(LIMITS.signal_part_bytes + 1))
  expect(inPart(large, 1)?.payload_part).toEqual({
    ...{ part: 1, parts: 2 },
    next: 'signals read {"signal_id":"01JZ0000000000000000000000","part":2}',
  })
  expect(inPart(large, 2)).toEqual({ ...large, payload: 'x', payload_part: { part: 2, parts: 2 } })
  expect(inPart(large, 3)).toBeNull()
})
