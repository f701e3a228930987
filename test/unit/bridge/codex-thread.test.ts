import { expect, test } from 'vitest'
import { codexThread, newsOfCall } from '../../../src/transports/bridge/codex-thread.ts'

const call = (
  meta: Record<string, unknown>,
  name = 'signals_pending',
  args: Record<string, unknown> = {},
) => ({
  ...{ name, meta, args, signal: new AbortController().signal },
})
const AT = '2026-01-01T00:00:00.000Z'

test("a call's thread is its session", () => {
  const own = { thread_id: 't-1', subagent: false }
  expect(codexThread(call({ threadId: 't-1', sessionId: 't-1' }))).toEqual(own)
  expect(codexThread(call({ threadId: 't-1' }))).toEqual(own)
})

test.each([[{}], [{ threadId: '' }], [{ threadId: 7 }]])('%j names no thread', (meta) => {
  expect(codexThread(call(meta))).toBeNull()
})

test("a subagent's thread may send, but takes nothing", () => {
  const meta = { threadId: 't-2', sessionId: 't-1' }
  expect(codexThread(call(meta, 'signals'))).toEqual({ thread_id: 't-2', subagent: true })
  expect(() => codexThread(call(meta))).toThrow(expect.objectContaining({ code: 'subagent_forbidden' }))
})

const OTHER_NAMES: [string, Record<string, unknown>][] = [
  ['signals', { action: 'pending' }],
  ['tool_invoke', { name: 'signals_pending' }],
  ['prism_signals_pending', {}],
]

test.each(OTHER_NAMES)("a subagent's thread takes nothing by %s %j either", (name, args) => {
  const meta = { threadId: 't-2', sessionId: 't-1' }
  expect(() => codexThread(call(meta, name, args))).toThrow(
    expect.objectContaining({ code: 'subagent_forbidden' }),
  )
})

test.each(OTHER_NAMES)('a call tells that it took what waited by %s %j too', (name, args) => {
  const thread = { thread_id: 't-1', subagent: false }
  expect(newsOfCall(thread, call({}, name, args), AT)).toMatchObject({ event: 'Drain' })
})

test('a call tells that its thread acts for the persona, and whether it took what waited', () => {
  const thread = { thread_id: 't-1', subagent: false }
  expect(newsOfCall(thread, call({}), AT)).toEqual({ thread_id: 't-1', event: 'Drain', at: AT })
  expect(newsOfCall(thread, call({}, 'signals_pending', { peek: true }), AT)).toMatchObject({
    event: 'ToolCall',
  })
  expect(newsOfCall(thread, call({}, 'signals'), AT)).toMatchObject({ event: 'ToolCall' })
})

test('a subagent does not act for the persona', () => {
  expect(newsOfCall({ thread_id: 't-2', subagent: true }, call({}, 'signals'), AT)).toBeNull()
})
