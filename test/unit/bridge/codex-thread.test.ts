import { expect, test } from 'vitest'
import { limitToCodexDisplay, codexThread, threadEventOf } from '../../../src/bridge/codex-thread.ts'

const call = (
  meta: Record<string, unknown>,
  name = 'signals_pending',
  args: Record<string, unknown> = {},
) => ({
  name,
  meta,
  args,
  signal: new AbortController().signal,
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

test("a subagent's thread may send but not drain", () => {
  const meta = { threadId: 't-2', sessionId: 't-1' }
  expect(codexThread(call(meta, 'signals'))).toEqual({ thread_id: 't-2', subagent: true })
  expect(() => codexThread(call(meta))).toThrow(expect.objectContaining({ code: 'subagent_forbidden' }))
})

const OTHER_NAMES: [string, Record<string, unknown>][] = [
  ['signals', { action: 'pending' }],
  ['tool_invoke', { name: 'signals_pending' }],
  ['prism_signals_pending', {}],
]

test.each(OTHER_NAMES)("a subagent's thread may not drain through %s %j either", (name, args) => {
  const meta = { threadId: 't-2', sessionId: 't-1' }
  expect(() => codexThread(call(meta, name, args))).toThrow(
    expect.objectContaining({ code: 'subagent_forbidden' }),
  )
})

test.each(OTHER_NAMES)('a call of %s %j is reported as a drain', (name, args) => {
  const thread = { thread_id: 't-1', subagent: false }
  expect(threadEventOf(thread, call({}, name, args), AT)).toMatchObject({ event: 'Drain' })
})

test('a call reports that its thread acts for the persona, and whether it drained', () => {
  const thread = { thread_id: 't-1', subagent: false }
  expect(threadEventOf(thread, call({}), AT)).toEqual({ thread_id: 't-1', event: 'Drain', at: AT })
  expect(threadEventOf(thread, call({}, 'signals_pending', { peek: true }), AT)).toMatchObject({
    event: 'ToolCall',
  })
  expect(threadEventOf(thread, call({}, 'signals'), AT)).toMatchObject({ event: 'ToolCall' })
})

test('a subagent does not act for the persona', () => {
  expect(threadEventOf({ thread_id: 't-2', subagent: true }, call({}, 'signals'), AT)).toBeNull()
})

const CODEX = { threadId: 't-1' }

test.each([
  ['signals_pending', { limit: 50 }, { limit: 50, max_tokens: 2_900 }],
  ['prism_signals_pending', { max_tokens: 9_000, confirm: 'd' }, { confirm: 'd', max_tokens: 2_900 }],
  ['signals', { action: 'pending', params: { limit: 100 } }, { limit: 100, max_tokens: 2_900 }],
  ['tool_invoke', { name: 'signals_pending', args: '{"limit":21}' }, { limit: 21, max_tokens: 2_900 }],
  // Invalid parameters are passed on, so the hub still rejects them.
  ['signals_pending', { limit: 5_000, what: 1 }, { limit: 5_000, what: 1, max_tokens: 2_900 }],
])('%s %j is limited to what Codex shows', (name, args, bounded) => {
  expect(limitToCodexDisplay(call(CODEX, name, args))).toMatchObject({
    name: 'signals_pending',
    args: bounded,
  })
})

test.each([
  [CODEX, 'signals_pending', {}],
  [CODEX, 'signals_pending', { limit: 20 }],
  [CODEX, 'signals_pending', { limit: 100, max_tokens: 2_000 }],
  [CODEX, 'signals_pending', { limit: 100, max_tokens: 'all' }],
  [CODEX, 'signals_pending', { limit: 100, peek: true }],
  [CODEX, 'signals', { action: 'inbox', params: { limit: 100 } }],
  [{}, 'signals_pending', { limit: 100 }],
])('with the meta %j, %s %j is forwarded unchanged', (meta, name, args) => {
  const given = call(meta, name, args)
  expect(limitToCodexDisplay(given)).toBe(given)
})
