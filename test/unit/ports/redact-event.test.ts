import { expect, test } from 'vitest'
import type { ReportedEvent } from '../../../src/contracts/activity/event.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { captureValue, redactEvent } from '../../../src/ports/redaction/redact-event.ts'
import { createRedactor } from '../../../src/system/redaction/redactor.ts'

const redactor = createRedactor()
const SECRET = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'

test('strings of an input are redacted at any depth, with their names', async () => {
  const input = {
    a: [{ b: `x ${SECRET}` }, 1, null, true],
    [SECRET]: 'c',
    token: 'short',
    tokens: 'kept',
    password: '',
  }
  expect(await captureValue(input, redactor)).toEqual({
    a: [{ b: 'x [redacted]' }, 1, null, true],
    '[redacted]': 'c',
    token: '[redacted]',
    tokens: 'kept',
    password: '',
  })
})

test('a deeply nested input becomes text, without its secrets', async () => {
  let deep: Json = SECRET
  for (let level = 0; level < 2_000; level++) deep = [deep]
  const text = JSON.stringify(await captureValue(deep, redactor))
  expect(text).toContain('[redacted]')
  expect(text).not.toContain(SECRET)
})

test('a long input becomes the beginning of its JSON text', async () => {
  const max = LIMITS.activity_text_bytes_max
  const content = 'é'.repeat(max)
  const captured = await captureValue({ content, last: SECRET }, redactor)
  expect(captured).toMatchObject({
    bytes: Buffer.byteLength(JSON.stringify({ content, last: '[redacted]' })),
  })
  const { text } = captured as { text: string }
  expect(text.startsWith('{"content":"éé')).toBe(true)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max)
})

test('ids and names of an event are kept, and the size and digest of a cut text', async () => {
  const common = {
    event_id: '0'.repeat(26),
    agent_id: null,
    turn_seq: 1,
    seq: 1,
    at: '2026-03-01T12:00:00.000Z',
  }
  const failed: ReportedEvent = {
    ...common,
    source: 'hook',
    kind: 'action.failed',
    data: {
      action_id: SECRET,
      tool: 'Bash',
      error: { text: SECRET, bytes: 99, sha256: 'b'.repeat(64) },
      denied: true,
    },
  }
  expect((await redactEvent(failed, redactor)).data).toEqual({
    ...failed.data,
    error: { text: '[redacted]', bytes: 99, sha256: 'b'.repeat(64) },
  })
})
