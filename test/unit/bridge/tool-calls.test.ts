/** What becomes of a drain, whichever way its answer goes. */
import { beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../../src/ports/log.ts'
import { createIds } from '../../../src/system/random.ts'
import type { Drains } from '../../../src/transports/bridge/drains.ts'
import { createToolCalls, type ToolCall, type ToolCalls } from '../../../src/transports/bridge/tool-calls.ts'
import { fakeClock, seededRandom } from '../../support/fake-clock.ts'

const DRAIN_ID = '01J00000000000000000000001'
const SIGNAL_ID = '01J00000000000000000000002'
const SIGNAL = {
  ...{ signal_id: SIGNAL_ID, from: 'bob', origin: 'agent', to: 'ada', intent: 'x', payload: 1, priority: 3 },
  ...{ created_at: '2026-03-01T12:00:00.000Z', deliveries: 1 },
}
const DRAINED = {
  content: [],
  structuredContent: { signals: [SIGNAL], remaining: 0, drain_id: DRAIN_ID },
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

function callsWith(own: Pick<Parameters<typeof createToolCalls>[0], 'answer' | 'answerWritten'>): ToolCalls {
  const drains: Drains = {
    take: (_, ask) => ask(),
    handed: ({ drain_id }) => void said.push(`handed ${drain_id}`),
    confirm: (drain_id) => void said.push(`confirmed ${drain_id}`),
    release: (signal_ids) => void said.push(`released ${signal_ids.join(' ')}`),
    settled: () => Promise.resolve(),
    releaseLeft: () => Promise.resolve(),
  }
  const upstream = {
    request: () => Promise.resolve(DRAINED),
    callHere: () => null,
    listen: () => Promise.resolve(),
    endSession: () => Promise.resolve(),
    close: () => {},
  }
  const ids = createIds(fakeClock(), seededRandom())
  return createToolCalls({ upstream, session_id: () => 's', ids, log: silentLog, ...own }, drains)
}

test('a drain that was written is confirmed, once', async () => {
  await calls.call(1, call)
  expect(said).toEqual([`handed ${DRAIN_ID}`])
  calls.written(1, 'result')
  calls.written(1, 'result')
  abort.abort()
  expect(said).toEqual([`handed ${DRAIN_ID}`, `confirmed ${DRAIN_ID}`])
})

test('a drain in whose place an error was written goes back, once', async () => {
  await calls.call(1, call)
  calls.written(1, 'error')
  abort.abort()
  expect(said).toEqual([`handed ${DRAIN_ID}`, `released ${SIGNAL_ID}`])
})

test('a drain that the client gave up goes back, whatever is written later', async () => {
  await calls.call(1, call)
  abort.abort()
  calls.written(1, 'error')
  calls.written(1, 'result')
  expect(said).toEqual([`handed ${DRAIN_ID}`, `released ${SIGNAL_ID}`])
})

test('an own answer in whose place an error was written is not told of as written', async () => {
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
