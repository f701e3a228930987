/** Tests which calls use the fast path, and their results. */
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/server'
import { beforeEach, describe, expect, test } from 'vitest'
import { createFastPathLines, type FastPathLines } from '../../../../src/bridge/stdio/fast-path-lines.ts'
import type { ToolCall } from '../../../../src/bridge/tool-call.ts'
import { fastPathCallIn, type FastPathCall } from '../../../../src/transports/mcp/fast-path-call.ts'
import { eventually } from '../../../support/eventually.ts'

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const call = (id: number | string, params: object = {}) =>
  fastPathCallIn({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'x', ...params },
  }) as FastPathCall
const modernCall = (id: number, more: object = {}) => call(id, { _meta: { ...ENVELOPE, ...more } })

let lines: FastPathLines
let sent: JSONRPCMessage[]
let failed: unknown[]
let calls: { call: ToolCall; answer: (result: CallToolResult) => void; refuse: (error: unknown) => void }[]
let send: (message: JSONRPCMessage) => Promise<void>
beforeEach(() => {
  ;[sent, failed, calls] = [[], [], []]
  send = (message) => Promise.resolve(void sent.push(message))
  lines = createFastPathLines({
    version: '1',
    call: (_, made) =>
      new Promise((answer, refuse) => {
        calls.push({ call: made, answer, refuse })
      }),
    asError: (error) => ({ code: -32603, message: String(error) }),
    send: (message) => send(message),
    onFailed: (error) => failed.push(error),
  })
})

describe('the choice of the fast path', () => {
  test('a call uses the fast path only after the SDK has handled one like it', () => {
    lines.onServerCreated('legacy')
    expect(lines.accept(call(1))).toBe(false)
    lines.onSdkCall(undefined)
    expect(lines.accept(call(1))).toBe(true)
    expect(lines.accept(modernCall(2))).toBe(false)
  })

  test('a call of 2026-07-28 uses the fast path only with the envelope that the SDK has handled', () => {
    lines.onServerCreated('modern')
    expect(lines.accept(modernCall(1))).toBe(false)
    lines.onSdkCall(ENVELOPE)
    expect(lines.accept(modernCall(1))).toBe(true)
    expect(lines.accept(modernCall(2, { run_id: 'r' }))).toBe(true)
    const other = { 'io.modelcontextprotocol/clientInfo': { name: 'other', version: '1' } }
    expect(lines.accept(modernCall(3, other))).toBe(false)
    expect(lines.accept(call(4))).toBe(false)
  })

  test('a call does not use the fast path if a legacy call had an envelope', () => {
    lines.onServerCreated('legacy')
    lines.onSdkCall(ENVELOPE)
    expect(lines.accept(call(1))).toBe(false)
    expect(lines.accept(modernCall(2))).toBe(false)
  })

  test('a call does not use the fast path after a server of another revision until the SDK has handled one', () => {
    lines.onServerCreated('modern')
    lines.onSdkCall(ENVELOPE)
    lines.onServerCreated('legacy')
    expect(lines.accept(modernCall(1))).toBe(false)
    lines.onSdkCall(undefined)
    lines.onServerCreated('modern')
    expect(lines.accept(call(2))).toBe(false)
    expect(lines.accept(modernCall(3))).toBe(false)
  })

  test('a call does not use the fast path while one with the same id runs', () => {
    lines.onServerCreated('legacy')
    lines.onSdkCall(undefined)
    expect([lines.accept(call(1)), lines.accept(call(1)), lines.accept(call('1'))]).toEqual([
      true,
      false,
      true,
    ])
  })
})

describe('a call on the fast path', () => {
  beforeEach(() => {
    lines.onServerCreated('legacy')
    lines.onSdkCall(undefined)
  })

  test('a fast-path call is answered under its id, which may then be reused', async () => {
    lines.accept(call('a', { arguments: { b: 1 }, _meta: { run_id: 'r' } }))
    expect(calls[0]?.call).toMatchObject({ name: 'x', args: { b: 1 }, meta: { run_id: 'r' } })
    calls[0]?.answer({ content: [] })
    await eventually('the answer', () => sent.length === 1)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 'a', result: { content: [] } }])
    expect(lines.accept(call('a'))).toBe(true)
  })

  test("a fast-path call of 2026-07-28 is answered in the form of the revision, and the hub's fields are kept", async () => {
    lines.onServerCreated('modern')
    lines.onSdkCall(ENVELOPE)
    lines.accept(modernCall(1))
    lines.accept(modernCall(2))
    const theirs = { 'io.modelcontextprotocol/serverInfo': { name: 'hub', version: '2' } }
    calls[0]?.answer({ content: [] })
    calls[1]?.answer({ content: [], _meta: theirs })
    await eventually('the answers', () => sent.length === 2)
    const ours = { 'io.modelcontextprotocol/serverInfo': { name: 'turnbell', version: '1' } }
    expect(sent).toMatchObject([
      { id: 1, result: { resultType: 'complete', _meta: ours } },
      { id: 2, result: { resultType: 'complete', _meta: theirs } },
    ])
  })

  test('a failed fast-path call is answered with the error', async () => {
    lines.accept(call(1))
    calls[0]?.refuse('broken')
    await eventually('the answer', () => sent.length === 1)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'broken' } }])
  })

  test.each(['answer', 'refuse'] as const)('a cancelled fast-path call gets no answer: %s', async (end) => {
    lines.accept(call(1))
    lines.accept(call(2))
    lines.cancelled(1)
    lines.cancelled('nobody')
    lines.cancelled(undefined)
    expect(calls.map(({ call: made }) => made.signal.aborted)).toEqual([true, false])
    calls[0]?.[end]({ content: [] })
    calls[1]?.answer({ content: [] })
    await eventually('the other answer', () => sent.length === 1)
    expect(sent).toMatchObject([{ id: 2 }])
  })

  test('a cancelled fast-path call does not affect the next call with its id', async () => {
    lines.accept(call(1))
    lines.cancelled(1)
    lines.accept(call(1))
    calls[0]?.answer({ content: [{ type: 'text', text: 'late' }] })
    calls[1]?.answer({ content: [] })
    await eventually('the answer', () => sent.length > 0)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [] } }])
  })

  test('a fast-path call is aborted when the client disconnects', () => {
    lines.accept(call(1))
    lines.close()
    expect(calls[0]?.call.signal.aborted).toBe(true)
  })

  test('a fast-path answer that could not be sent is reported', async () => {
    send = () => Promise.reject(new Error('gone'))
    lines.accept(call(1))
    calls[0]?.answer({ content: [] })
    await eventually('the failure', () => failed.length === 1)
  })
})
