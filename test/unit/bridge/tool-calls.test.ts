/** Tests that a drain is confirmed or released, whichever way its response takes. */
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createIds } from '../../../src/system/random.ts'
import type { Drains } from '../../../src/bridge/drains.ts'
import { createFastPathLines } from '../../../src/bridge/stdio/fast-path-lines.ts'
import type { ToolCall } from '../../../src/bridge/tool-call.ts'
import { CALL_MS, createToolCalls, type ToolCalls } from '../../../src/bridge/tool-calls.ts'
import { AnswerLost, type Params } from '../../../src/bridge/hub/answers.ts'
import type { RequestOptions, Upstream } from '../../../src/bridge/hub/upstream.ts'
import { fastPathCallIn, type FastPathCall } from '../../../src/transports/mcp/fast-path-call.ts'
import { fakeClock, seededRandom } from '../../support/fakes/fake-clock.ts'

const DRAIN_ID = '01J00000000000000000000001'
const SIGNAL_ID = '01J00000000000000000000002'
const SIGNAL = {
  signal_id: SIGNAL_ID,
  from: 'bob',
  origin: 'agent',
  to: 'ada',
  intent: 'x',
  payload: 1,
  priority: 3,
  created_at: '2026-03-01T12:00:00.000Z',
  deliveries: 1,
}
const DRAINED = {
  content: [],
  structuredContent: { signals: [SIGNAL], remaining: 0, drain_id: DRAIN_ID },
}

const upstream: Upstream = {
  request: () => Promise.resolve(DRAINED),
  checkPersona: () => Promise.resolve(),
  callInProcess: () => null,
  listen: () => Promise.resolve(),
  teamView: () => Promise.reject(new Error('not read')),
  reportActivity: () => Promise.reject(new Error('not reported')),
  endSession: () => Promise.resolve(),
  close: () => {},
}

let said: string[]
let abort: AbortController
let calls: ToolCalls
let call: ToolCall
beforeEach(() => {
  said = []
  abort = new AbortController()
  call = { name: 'signals_pending', args: {}, meta: {}, signal: abort.signal }
  calls = callsWith({})
})

test('a drain that requests more than Codex shows its model is limited', async () => {
  const asked: Params[] = []
  const request = (_: string, params: Params) => {
    asked.push(params)
    return Promise.resolve(DRAINED)
  }
  const drain = { ...call, args: { limit: 50 } }
  await callsWith({ upstream: { ...upstream, request } }).call(1, { ...drain, meta: { threadId: 't-1' } })
  await callsWith({ upstream: { ...upstream, request } }).call(2, drain)
  const bounded = { limit: 50, max_tokens: LIMITS.drain_tokens_shown_by_codex }
  expect(asked.map((params) => params['arguments'])).toEqual([bounded, { limit: 50 }])
})

test('a fast-path line of Codex that requests too much is answered like any other', async () => {
  const answered = new Promise<JSONRPCMessage>((resolve, reject) => {
    const lines = createFastPathLines({
      version: '1',
      call: (id, made) => calls.call(id, made),
      asError: (error) => ({ code: -32603, message: String(error) }),
      send: (message) => Promise.resolve(resolve(message)),
      onFailed: reject,
    })
    lines.onServerCreated('legacy')
    lines.onSdkCall(undefined)
    const params = { name: 'signals_pending', arguments: { limit: 50 }, _meta: { threadId: 't-1' } }
    lines.accept(fastPathCallIn({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }) as FastPathCall)
  })
  expect(await answered).toEqual({ jsonrpc: '2.0', id: 7, result: DRAINED })
  calls.written(7, 'result')
  expect(said).toEqual([`handed ${DRAIN_ID}`, `confirmed ${DRAIN_ID}`])
})

type Options = Parameters<typeof createToolCalls>[0]

function callsWith(own: Partial<Options>): ToolCalls {
  const drains: Drains = {
    request: (_, ask) => ask(),
    received: (_, { drain_id }) => void said.push(`handed ${drain_id}`),
    written: (drain_id) => void said.push(`written ${drain_id}`),
    confirm: (drain_id) => void said.push(`confirmed ${drain_id}`),
    release: (signal_ids) => void said.push(`released ${signal_ids.join(' ')}`),
    settled: () => Promise.resolve(),
    releaseOrphaned: () => Promise.resolve(),
  }
  const ids = createIds(fakeClock(), seededRandom())
  return createToolCalls({ upstream, session_id: () => 's', ids, log: silentLog, ...own }, drains)
}

test('a written drain is confirmed once', async () => {
  await calls.call(1, call)
  expect(said).toEqual([`handed ${DRAIN_ID}`])
  calls.written(1, 'result')
  calls.written(1, 'result')
  abort.abort()
  expect(said).toEqual([`handed ${DRAIN_ID}`, `confirmed ${DRAIN_ID}`])
})

test('a drain whose answer was replaced by an error is released once', async () => {
  await calls.call(1, call)
  calls.written(1, 'error')
  abort.abort()
  expect(said).toEqual([`handed ${DRAIN_ID}`, `released ${SIGNAL_ID}`])
})

test('a cancelled drain is released, whatever is written later', async () => {
  await calls.call(1, call)
  abort.abort()
  calls.written(1, 'error')
  calls.written(1, 'result')
  expect(said).toEqual([`handed ${DRAIN_ID}`, `released ${SIGNAL_ID}`])
})

test('a local answer replaced by an error is not reported as written', async () => {
  const answers = {
    answer: () => Promise.resolve({ content: [] }),
    answerWritten: () => void said.push('written'),
  }
  calls = callsWith(answers)
  await calls.call(1, call)
  calls.written(1, 'error')
  await calls.call(2, call)
  calls.written(2, 'result')
  expect(said).toEqual(['written'])
})

test('a drain whose answer could not be sent is released', async () => {
  await calls.call(1, call)
  calls.unwritten(1)
  expect(said).toEqual([`handed ${DRAIN_ID}`, `released ${SIGNAL_ID}`])
})

test('a drain is released if its id is reused before its answer was written', async () => {
  await calls.call(1, call)
  await calls.call(1, call)
  calls.written(1, 'result')
  expect(said).toEqual([
    ...[`handed ${DRAIN_ID}`, `handed ${DRAIN_ID}`],
    ...[`released ${SIGNAL_ID}`, `confirmed ${DRAIN_ID}`],
  ])
})

test('a drain that is confirmed later is reported as written first', async () => {
  calls = callsWith({ drainWritten: (_, { drain_id }) => void said.push(`held ${drain_id}`) })
  await calls.call(1, call)
  calls.written(1, 'result')
  expect(said).toEqual([`handed ${DRAIN_ID}`, `written ${DRAIN_ID}`, `held ${DRAIN_ID}`])
})

describe('two calls in one tick of the event loop', () => {
  const inSession = (name: string, session: string): ToolCall => ({
    name,
    args: {},
    signal: abort.signal,
    meta: { session },
  })
  const session_id = ({ meta }: ToolCall) => String(meta['session'])

  test('concurrent calls are each sent in their own session', async () => {
    const asked: unknown[] = []
    const request = (_: string, { name }: Params, options: RequestOptions) => {
      asked.push([name, options.session_id])
      return Promise.resolve({})
    }
    calls = callsWith({ session_id, upstream: { ...upstream, request } })
    await Promise.all([
      calls.call(1, inSession('coordinator', 't1')),
      calls.call(2, inSession('signals_pending', 't2')),
    ])
    expect(asked).toEqual([
      ['coordinator', 't1'],
      ['signals_pending', 't2'],
    ])
  })

  test('concurrent calls are each sent in their own session to the hub in this process', async () => {
    const asked: unknown[] = []
    const callInProcess = ({ name }: Params, session: string) => {
      asked.push([name, session])
      return Promise.resolve({})
    }
    calls = callsWith({ session_id, upstream: { ...upstream, callInProcess } })
    await Promise.all([
      calls.call(1, inSession('coordinator', 't1')),
      calls.call(2, inSession('coordinator', 't2')),
    ])
    expect(asked).toEqual([
      ['coordinator', 't1'],
      ['coordinator', 't2'],
    ])
  })
})

test('a call answered by the hub in this process does not create its AbortSignal', async () => {
  const unasked = { ...call, name: 'coordinator' }
  Object.defineProperty(unasked, 'signal', { get: () => expect.unreachable('a signal was made') })
  const callInProcess = () => Promise.resolve({ content: [] })
  calls = callsWith({ upstream: { ...upstream, callInProcess } })
  expect(await calls.call(1, unasked)).toEqual({ content: [] })
})

test.each([
  ['a drain for bridge_answer_ms', 'signals_pending', LIMITS.bridge_answer_ms],
  ['any other call for as long as a program may run', 'routine', CALL_MS],
])('an answer is awaited: %s', async (_, name, answer_ms) => {
  const waited: unknown[] = []
  const request = (_: string, __: Params, options: RequestOptions) => {
    waited.push(options.answer_ms)
    return Promise.resolve({})
  }
  calls = callsWith({ upstream: { ...upstream, request } })
  await calls.call(1, { ...call, name })
  expect(waited).toEqual([answer_ms])
})

test.each([
  ['ran for a long time is not repeated', LIMITS.bridge_answer_ms, ['coordinator']],
  ['failed soon is repeated', 1_000, ['coordinator', 'tool_describe', 'coordinator']],
])('a read that %s', async (_, waited_ms, expected) => {
  const asked: unknown[] = []
  const request = (_: string, { name }: Params) => {
    asked.push(name)
    if (asked.length === 1) return Promise.reject(new AnswerLost(new Error('gone'), waited_ms))
    return Promise.resolve({ structuredContent: { mutates: false } })
  }
  calls = callsWith({ upstream: { ...upstream, request } })
  await calls.call(1, { ...call, name: 'coordinator' }).catch(() => undefined)
  expect(asked).toEqual(expected)
})
