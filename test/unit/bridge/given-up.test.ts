/** Tests a client that cancels a drain while its response is being written, and so ignores the response. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { silentLog } from '../../../src/ports/log.ts'
import { createBridge } from '../../../src/bridge/bridge.ts'
import { StdioLines } from '../../../src/bridge/stdio/stdio-lines.ts'
import type { Upstream } from '../../../src/bridge/hub/upstream.ts'
import { createIds } from '../../../src/system/random.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock, seededRandom } from '../../support/fakes/fake-clock.ts'

const SIGNAL_ID = '01KJ0000000000000000000001'
const DRAIN_ID = '01KJ0000000000000000000002'
const DRAINED = {
  signals: [
    {
      signal_id: SIGNAL_ID,
      from: 'ada',
      origin: 'agent',
      to: 'bob',
      intent: 'note',
      payload: null,
      priority: 3,
      created_at: '2026-03-01T12:00:00.000Z',
      deliveries: 1,
    },
  ],
  remaining: 0,
  drain_id: DRAIN_ID,
}

test.each([
  ['confirms it', false, { confirm: DRAIN_ID }],
  ['releases it if the client has cancelled it', true, { params: { signal_ids: [SIGNAL_ID] } }],
])('a bridge that has written a drain %s', async (_, gives_up, said) => {
  const asked: unknown[] = []
  const upstream: Upstream = {
    async request(method, params) {
      if (method === 'tools/list') return { tools: [] }
      asked.push(params['arguments'])
      return { content: [], structuredContent: asked.length === 1 ? DRAINED : {} }
    },
    checkPersona: () => Promise.resolve(),
    callInProcess: () => null,
    listen: () => new Promise(() => undefined),
    teamView: () => Promise.reject(new Error('not read')),
    reportActivity: () => Promise.reject(new Error('not reported')),
    endSession: () => Promise.resolve(),
    close() {},
  }
  const [input, output, clock] = [new PassThrough(), new PassThrough(), fakeClock()]
  const tell = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let answered = false
  output.on('data', (chunk: Buffer) => {
    if (answered || !chunk.toString().includes(DRAIN_ID)) return
    answered = true
    // The cancellation was written before the response was read, and arrives in the next tick of the event loop.
    if (gives_up) setImmediate(tell, { method: 'notifications/cancelled', params: { requestId: 7 } })
  })
  createBridge({
    upstream,
    transport: new StdioLines(input, output),
    session_id: () => 's',
    instructions: 'x',
    version: '0',
    clock,
    ids: createIds(clock, seededRandom()),
    log: silentLog,
  })
  const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  tell({ id: 1, method: 'initialize', params: info })
  tell({ method: 'notifications/initialized' })
  tell({ id: 7, method: 'tools/call', params: { name: 'signals_pending', arguments: {} } })
  await eventually('the hub was told what became of it', () => asked.length > 1)
  expect(asked[1]).toMatchObject(said)
})
