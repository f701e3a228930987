/** Tests that a plain tool call is answered without the SDK and with an identical response. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEnvelopes, ENVELOPE_CHARS_MAX, ENVELOPES_MAX } from '../../../src/transports/mcp/envelopes.ts'
import { fastPathCallIn } from '../../../src/transports/mcp/fast-path-call.ts'
import { startSmallHub, type Answer, type SmallHub } from '../../support/worlds/small-hub.ts'

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const message = (params: unknown = { name: 'signals' }) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params,
})

describe('a message is a plain call', () => {
  test.each([
    ['with a number as id', message()],
    ['with a text as id', { ...message(), id: 'a' }],
    ['with arguments', message({ name: 'signals', arguments: { action: 'inbox' } })],
    ['with a description of the client', message({ name: 'signals', _meta: { run_id: 'r', other: [1] } })],
    ['with a progress token', message({ name: 'signals', _meta: { progressToken: 7 } })],
  ])('a message %s is a plain call', (_, body) => {
    expect(fastPathCallIn(body)).toMatchObject({ name: 'signals', modern: false })
  })

  test('a message of 2026-07-28 is a plain call', () => {
    expect(fastPathCallIn(message({ name: 'x', _meta: { ...ENVELOPE, agent_id: 'a' } }))).toMatchObject({
      modern: true,
      meta: { agent_id: 'a' },
    })
  })
})

describe('the SDK judges', () => {
  test.each<[string, unknown]>([
    ['nothing', null],
    ['a text', 'tools/call'],
    ['a batch', [message()]],
    ['another version of JSON-RPC', { ...message(), jsonrpc: '1.0' }],
    ['another method', { ...message(), method: 'tools/list' }],
    ['a notification', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'x' } }],
    ['an id that is null', { ...message(), id: null }],
    ['an id with a fraction', { ...message(), id: 1.5 }],
    ['an id beyond the safe integers', { ...message(), id: 2 ** 53 }],
    ['an id that is an object', { ...message(), id: {} }],
    ['an unknown field', { ...message(), more: 1 }],
    ['no params', { jsonrpc: '2.0', id: 1, method: 'tools/call' }],
    ['params in a list', message(['signals'])],
    ['params without a name', message({})],
    ['a name that is a number', message({ name: 1 })],
    ['arguments that are a list', message({ name: 'x', arguments: [] })],
    ['arguments that are null', message({ name: 'x', arguments: null })],
    [
      'arguments with a prototype',
      JSON.parse(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"__proto__":1}}}',
      ),
    ],
    ['a task', message({ name: 'x', task: { ttl: 1 } })],
    ['a state of a former round', message({ name: 'x', requestState: 's' })],
    ['answers of a former round', message({ name: 'x', inputResponses: {} })],
    ['_meta that is a text', message({ name: 'x', _meta: 'm' })],
    ['a token for progress that is an object', message({ name: 'x', _meta: { progressToken: {} } })],
    [
      'a related task',
      message({ name: 'x', _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } }),
    ],
    [
      'an envelope without a version',
      message({ name: 'x', _meta: { 'io.modelcontextprotocol/clientInfo': {} } }),
    ],
    [
      'a wish for logs',
      message({ name: 'x', _meta: { ...ENVELOPE, 'io.modelcontextprotocol/logLevel': 'info' } }),
    ],
    [
      'another revision',
      message({ name: 'x', _meta: { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } }),
    ],
  ])('the SDK handles %s', (_, body) => {
    expect(fastPathCallIn(body)).toBeNull()
  })
})

describe('the description of a client in its messages', () => {
  const call = (name: string) => {
    const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/clientInfo': { name, version: '1' } }
    return fastPathCallIn(message({ name: 'x', _meta }))?.meta
  }

  test('the description of a client is validated once, and again only after a change', () => {
    const envelopes = createEnvelopes()
    let judged = 0
    const judge = () => ++judged > 0
    for (const name of ['a', 'a', 'b', 'a']) expect(envelopes.accepts(call(name), judge)).toBe(true)
    expect(judged).toBe(2)
  })

  test('the description of a client is validated again after a rejection', () => {
    const envelopes = createEnvelopes()
    expect(envelopes.accepts(call('a'), () => false)).toBe(false)
    expect(envelopes.accepts(call('a'), () => true)).toBe(true)
  })

  test('the description of a client is validated every time if it is too large', () => {
    const envelopes = createEnvelopes()
    let judged = 0
    const judge = () => ++judged > 0
    const long = call('x'.repeat(ENVELOPE_CHARS_MAX))
    for (let time = 0; time < 2; time++) envelopes.accepts(long, judge)
    expect(judged).toBe(2)
    for (let n = 0; n < ENVELOPES_MAX; n++) envelopes.accepts(call(`c${n}`), judge)
    judged = 0
    for (let time = 0; time < 2; time++) envelopes.accepts(call('one too many'), judge)
    expect(judged).toBe(2)
  })
})

describe('over HTTP', () => {
  let hub: SmallHub
  beforeAll(async () => {
    hub = await startSmallHub()
    for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
  })
  afterAll(() => hub.close())

  const post = (body: unknown, headers: Record<string, string>): Promise<Answer> =>
    hub.request('POST', '/mcp', { token: hub.token('ada'), body, headers })
  /** The instance differs between calls. */
  const same = (value: unknown) =>
    JSON.parse(JSON.stringify(value).replaceAll(/("instance":)"[^"]*"/g, '$1"…"')) as unknown

  const CALLS: [string, object][] = [
    ['a look at the inbox', { name: 'signals', arguments: { action: 'inbox', params: { limit: 1 } } }],
    ['a drain of nothing', { name: 'signals_pending', arguments: {} }],
    ['a call without arguments', { name: 'signals_pending' }],
    ['an old name', { name: 'coord_pending' }],
    ['params as text', { name: 'signals', arguments: { action: 'inbox', params: '{"limit":1}' } }],
    ['params without their nesting', { name: 'signals', arguments: { action: 'inbox', limit: 1 } }],
    ['wrong params', { name: 'signals', arguments: { action: 'inbox', params: { limit: 'many' } } }],
    ['an unknown action', { name: 'signals', arguments: { action: 'sing' } }],
    ['an unknown tool', { name: 'nobody' }],
    ['a tool without a name', { name: '' }],
    ['a forbidden action', { name: 'personas', arguments: { action: 'add' } }],
    ['a call inside a call', { name: 'tool_invoke', arguments: { name: 'signals_pending', params: {} } }],
    ['a bounded call', { name: 'signals', arguments: { action: 'ack' }, _meta: { read_only: true } }],
    ['a call that says who makes it', { name: 'signals_pending', _meta: { agent_id: 'a', run_id: 'r' } }],
    ['bounds of another form', { name: 'signals_pending', _meta: { read_only: 'perhaps', facets: 7 } }],
  ]

  test.each(CALLS)('a plain call of 2026-07-28 is answered identically to the SDK: %s', async (_, params) => {
    const meta = { ...(params as { _meta?: object })._meta, ...ENVELOPE }
    const { name } = params as { name: string }
    const call = (written: string) =>
      post(message({ ...params, _meta: meta }), {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': written,
        accept: 'application/json, text/event-stream',
      })
    const direct = await call(name)
    const entry = await call(`=?base64?${Buffer.from(name).toString('base64')}?=`)
    expect(same(direct.body)).toEqual(same(entry.body))
    expect(direct.status).toBe(entry.status)
    expect(direct.type).toBe(entry.type)
    expect(direct.body['result']).toMatchObject({ resultType: 'complete' })
  })

  test.each(CALLS)(
    'a plain call of the 2025 era is answered identically to the SDK: %s',
    async (_, params) => {
      const headers = { 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': 'a-session' }
      const direct = await post(message(params), headers)
      const batch = await post([message(params)], { ...headers, 'mcp-protocol-version': '2025-03-26' })
      expect([same(direct.body)]).toEqual(same(batch.body))
      expect(direct.status).toBe(200)
      expect(direct.headers.get('mcp-session-id')).toBe('a-session')
      expect(direct.type).toBe(batch.type)
    },
  )

  test('a plain call in a foreign or ended session is rejected', async () => {
    const inSession = (id: string, token = hub.token('ada')) =>
      hub.request('POST', '/mcp', {
        token,
        headers: { 'mcp-session-id': id },
        body: message({ name: 'signals_pending', arguments: {} }),
      })
    const before = hub.lines.length
    expect((await inSession('of-ada')).status).toBe(200)
    expect(hub.lines).toHaveLength(before + 1)
    const unknown = { error: { code: -32001, data: { code: 'target_stale', status: 404 } } }
    expect(await inSession('of-ada', hub.token('bob'))).toMatchObject({ status: 404, body: unknown })
    const end = { token: hub.token('ada'), headers: { 'mcp-session-id': 'of-ada' } }
    expect((await hub.request('DELETE', '/mcp', end)).status).toBe(200)
    expect(await inSession('of-ada')).toMatchObject({ status: 404, body: unknown })
    expect(await inSession('x'.repeat(129))).toMatchObject({ status: 404, body: unknown })
    expect(hub.lines, 'and nothing was done').toHaveLength(before + 1)
  })

  test('a plain call with an envelope that the SDK rejects is rejected as well', async () => {
    const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': 'none' }
    const answer = await post(message({ name: 'signals_pending', _meta }), {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'signals_pending',
    })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: { code: -32602 } })
  })
})
