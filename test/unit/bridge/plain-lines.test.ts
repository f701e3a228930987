/** Which calls pass the SDK by, and what becomes of them. */
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/server'
import { beforeEach, describe, expect, test } from 'vitest'
import { createPlainLines, type PlainLines } from '../../../src/transports/bridge/plain-lines.ts'
import type { ToolCall } from '../../../src/transports/bridge/tool-calls.ts'
import { plainCallIn, type PlainCall } from '../../../src/transports/mcp/plain-call.ts'
import { eventually } from '../../support/eventually.ts'

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const call = (id: number | string, params: object = {}) =>
  plainCallIn({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'x', ...params } }) as PlainCall
const modernCall = (id: number, more: object = {}) => call(id, { _meta: { ...ENVELOPE, ...more } })

let lines: PlainLines
let sent: JSONRPCMessage[]
let failed: unknown[]
let calls: { call: ToolCall; answer: (result: CallToolResult) => void; refuse: (error: unknown) => void }[]
let send: (message: JSONRPCMessage) => Promise<void>
beforeEach(() => {
  ;[sent, failed, calls] = [[], [], []]
  send = (message) => Promise.resolve(void sent.push(message))
  lines = createPlainLines({
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

describe('a call passes the SDK by', () => {
  test('only once the SDK has handed over one like it', () => {
    lines.served('legacy')
    expect(lines.take(call(1))).toBe(false)
    lines.agreed(undefined)
    expect(lines.take(call(1))).toBe(true)
    expect(lines.take(modernCall(2))).toBe(false)
  })

  test('of 2026-07-28 only with the envelope that the SDK has seen', () => {
    lines.served('modern')
    expect(lines.take(modernCall(1))).toBe(false)
    lines.agreed(ENVELOPE)
    expect(lines.take(modernCall(1))).toBe(true)
    expect(lines.take(modernCall(2, { run_id: 'r' }))).toBe(true)
    const other = { 'io.modelcontextprotocol/clientInfo': { name: 'other', version: '1' } }
    expect(lines.take(modernCall(3, other))).toBe(false)
    expect(lines.take(call(4))).toBe(false)
  })

  test('not where a call of the past had an envelope', () => {
    lines.served('legacy')
    lines.agreed(ENVELOPE)
    expect(lines.take(call(1))).toBe(false)
    expect(lines.take(modernCall(2))).toBe(false)
  })

  test('not before the SDK agrees anew, when another era is served', () => {
    lines.served('modern')
    lines.agreed(ENVELOPE)
    lines.served('legacy')
    expect(lines.take(modernCall(1))).toBe(false)
    lines.agreed(undefined)
    lines.served('modern')
    expect(lines.take(call(2))).toBe(false)
    expect(lines.take(modernCall(3))).toBe(false)
  })

  test('not while one of the same id runs', () => {
    lines.served('legacy')
    lines.agreed(undefined)
    expect([lines.take(call(1)), lines.take(call(1)), lines.take(call('1'))]).toEqual([true, false, true])
  })
})

describe('a call that passed it by', () => {
  beforeEach(() => {
    lines.served('legacy')
    lines.agreed(undefined)
  })

  test('is answered under its id, and its id is free again', async () => {
    lines.take(call('a', { arguments: { b: 1 }, _meta: { run_id: 'r' } }))
    expect(calls[0]?.call).toMatchObject({ name: 'x', args: { b: 1 }, meta: { run_id: 'r' } })
    calls[0]?.answer({ content: [] })
    await eventually('the answer', () => sent.length === 1)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 'a', result: { content: [] } }])
    expect(lines.take(call('a'))).toBe(true)
  })

  test('of 2026-07-28 is answered as the era wants it, and what the hub said stands', async () => {
    lines.served('modern')
    lines.agreed(ENVELOPE)
    lines.take(modernCall(1))
    lines.take(modernCall(2))
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

  test('and breaks is answered with the error', async () => {
    lines.take(call(1))
    calls[0]?.refuse('broken')
    await eventually('the answer', () => sent.length === 1)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'broken' } }])
  })

  test.each(['answer', 'refuse'] as const)('and is cancelled gets no answer: %s', async (end) => {
    lines.take(call(1))
    lines.take(call(2))
    lines.cancelled(1)
    lines.cancelled('nobody')
    lines.cancelled(undefined)
    expect(calls.map(({ call: made }) => made.signal.aborted)).toEqual([true, false])
    calls[0]?.[end]({ content: [] })
    calls[1]?.answer({ content: [] })
    await eventually('the other answer', () => sent.length === 1)
    expect(sent).toMatchObject([{ id: 2 }])
  })

  test('and is cancelled leaves the next call of its id alone', async () => {
    lines.take(call(1))
    lines.cancelled(1)
    lines.take(call(1))
    calls[0]?.answer({ content: [{ type: 'text', text: 'late' }] })
    calls[1]?.answer({ content: [] })
    await eventually('the answer', () => sent.length > 0)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [] } }])
  })

  test('ends when the client goes', () => {
    lines.take(call(1))
    lines.close()
    expect(calls[0]?.call.signal.aborted).toBe(true)
  })

  test('tells of an answer that could not be sent', async () => {
    send = () => Promise.reject(new Error('gone'))
    lines.take(call(1))
    calls[0]?.answer({ content: [] })
    await eventually('the failure', () => failed.length === 1)
  })
})
