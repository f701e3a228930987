import { expect, test } from 'vitest'
import { codexThread } from '../../../src/transports/bridge/codex-thread.ts'

const call = (meta: Record<string, unknown>, name = 'signals_pending') => ({
  ...{ name, meta, args: {}, signal: new AbortController().signal },
})

test("a call's thread is its session", () => {
  expect(codexThread(call({ threadId: 't-1', sessionId: 't-1' }))).toBe('t-1')
  expect(codexThread(call({ threadId: 't-1' }))).toBe('t-1')
})

test.each([[{}], [{ threadId: '' }], [{ threadId: 7 }]])('%j names no thread', (meta) => {
  expect(codexThread(call(meta))).toBeNull()
})

test("a subagent's thread may send, but takes nothing", () => {
  const meta = { threadId: 't-2', sessionId: 't-1' }
  expect(codexThread(call(meta, 'signals'))).toBe('t-2')
  expect(() => codexThread(call(meta))).toThrow(expect.objectContaining({ code: 'subagent_forbidden' }))
})
