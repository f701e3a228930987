import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { withPart, splitPayload, jsonBytes } from '../../../src/contracts/signal-parts.ts'

const signal = (payload: Parameters<typeof splitPayload>[0]) => ({
  signal_id: '01JZ0000000000000000000000',
  payload,
})

describe('the parts of a payload', () => {
  test.each([
    ['plain text', 'words '.repeat(10_000)],
    ['text that is written longer as JSON', '"\n'.repeat(20_000)],
    ['text with characters of two halves', '🔔'.repeat(12_000)],
    ['an object', { list: Array.from({ length: 5_000 }, (_, index) => `item ${index}`) }],
  ])('the parts of %s join to its whole text, each within the limit', (_, payload) => {
    const parts = splitPayload(payload)
    expect(parts.length).toBeGreaterThan(1)
    expect(parts.join('')).toBe(typeof payload === 'string' ? payload : JSON.stringify(payload))
    expect(Math.max(...parts.map(jsonBytes))).toBeLessThanOrEqual(LIMITS.signal_part_bytes)
  })

  test('a small payload has one part', () => {
    expect(splitPayload('hello')).toEqual(['hello'])
    expect(splitPayload('')).toEqual([''])
  })
})

test('each part names the call for the next one, and the last part does not', () => {
  const large = signal('x'.repeat(LIMITS.signal_part_bytes + 1))
  expect(withPart(large, 1)?.payload_part).toEqual({
    part: 1,
    parts: 2,
    next: 'signals read {"signal_id":"01JZ0000000000000000000000","part":2}',
  })
  expect(withPart(large, 2)).toEqual({ ...large, payload: 'x', payload_part: { part: 2, parts: 2 } })
  expect(withPart(large, 3)).toBeNull()
})
