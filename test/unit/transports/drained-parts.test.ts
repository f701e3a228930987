import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { truncatePayloads } from '../../../src/bridge/drained-parts.ts'

const SHOWN = LIMITS.payload_bytes_shown

function answer(...payloads: string[]) {
  const signals = payloads.map((payload, index) => ({
    signal_id: `01JZ000000000000000000000${index}`,
    from: 'bob',
    origin: 'agent',
    to: 'ada',
    intent: 'test',
    payload,
    priority: 3,
    created_at: '2026-01-01T00:00:00.000Z',
    deliveries: 1,
  }))
  const structuredContent = { signals, remaining: 0, drain_id: '01JZ0000000000000000000009', note: 'kept' }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

test('a result whose payloads fit is returned unchanged', () => {
  const told = answer('small', 'x'.repeat(SHOWN))
  expect(truncatePayloads(told, SHOWN)).toBe(told)
})

test('a large payload is replaced by its first part, in the text and in the structure', () => {
  const shown = truncatePayloads(answer('small', 'x'.repeat(SHOWN + 1)), SHOWN)
  const { signals, ...rest } = shown['structuredContent'] as DrainResult
  expect(rest).toEqual({ remaining: 0, drain_id: '01JZ0000000000000000000009', note: 'kept' })
  expect(signals[0]).toMatchObject({ payload: 'small' })
  expect(signals[1]).toMatchObject({
    payload: 'x'.repeat(LIMITS.signal_part_bytes),
    payload_part: { part: 1, parts: 2 },
  })
  const [{ text }] = shown['content'] as [{ text: string }]
  expect(JSON.parse(text)).toEqual(shown['structuredContent'])
  // The most restrictive client shows 12,000 characters of an answer.
  expect(text.length).toBeLessThan(12_000)
})

test('a refusal is returned unchanged', () => {
  const refusal = { ...answer('x'.repeat(SHOWN + 1)), isError: true }
  expect(truncatePayloads(refusal, SHOWN)).toBe(refusal)
})
