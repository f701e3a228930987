/** Tests MCP messages that official clients never send, and messages that they need after a hub has restarted. */
import { once as eventsOnce } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAction, defineFacade } from '../../../src/kernel/define.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { Problem } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { atRest } from '../../support/fakes/fake-clock.ts'
import { startSmallHub, type Answer, type SmallHub } from '../../support/worlds/small-hub.ts'

const MEMORY = ['context', 'blackboard', 'decisions']
const DISCOVERY = ['tool_search', 'tool_describe', 'tool_invoke']

let hub: SmallHub
let cancelled: Promise<'written' | 'broken'>
let entered: () => void
let open: () => void
/** Outcome of the response to each held call, in call order. */
let fates: Promise<'written' | 'broken'>[] = []

const holding = defineFacade({
  name: 'holding',
  summary: 'Holds a call until it is let go.',
  compact: 'Holds.',
  facet: 'core',
  listed: true,
  actions: {
    hold: defineAction({
      summary: 'Holds.',
      mutates: true,
      input: z.strictObject({}),
      output: z.object({}),
      errors: [],
      allow: ['agent'],
      handle: async (_, { answer }) => {
        cancelled = answer.written()
        fates.push(cancelled)
        const opened = new Promise<void>((resolve) => (open = resolve))
        entered()
        await opened
        return {}
      },
    }),
  },
})

beforeAll(async () => {
  hub = await startSmallHub({ facades: [...FACADES, holding] })
  for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
})
afterAll(() => hub.close())

const rpc = (method: string, params: object = {}, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
})

function post(
  body: unknown,
  headers: Record<string, string> = {},
  token = hub.token('ada'),
): Promise<Answer> {
  return hub.request('POST', '/mcp', { token, body, headers })
}

async function session(token = hub.token('ada')): Promise<string> {
  const answer = await post(INITIALIZE, {}, token)
  return answer.headers.get('mcp-session-id') as string
}

describe('a session of the 2025 era', () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a session of the 2025 era uses %s',
    async (version) => {
      const answer = await post(
        rpc('initialize', {
          protocolVersion: version,
          capabilities: {},
          clientInfo: { name: 'x', version: '1' },
        }),
      )
      expect(answer.body['result']).toMatchObject({
        protocolVersion: version,
        serverInfo: { name: 'turnbell' },
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      })
      expect(answer.headers.get('mcp-session-id')).toMatch(/^[0-9A-Z]{26}$/)
    },
  )

  test('a session with a newer client uses the newest version that both support', async () => {
    const answer = await post(
      rpc('initialize', {
        protocolVersion: '2099-01-01',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      }),
    )
    expect(answer.body['result']).toMatchObject({ protocolVersion: '2025-11-25' })
  })

  test('a session unknown to this hub is recreated, because the hub was restarted', async () => {
    const answer = await post(rpc('tools/list'), { 'mcp-session-id': 'from-before-the-restart' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('mcp-session-id')).toBe('from-before-the-restart')
  })

  test('a session is over once it was ended', async () => {
    const id = await session()
    const end = () =>
      hub.request('DELETE', '/mcp', { token: hub.token('ada'), headers: { 'mcp-session-id': id } })
    expect((await end()).status).toBe(200)
    expect((await end()).status).toBe(404)
    const after = await post(rpc('tools/list'), { 'mcp-session-id': id })
    expect(after.status).toBe(404)
    expect(after.body).toMatchObject({ error: { message: 'Session not found' } })
    expect(problemIn(after)).toMatchObject({ code: 'target_stale', status: 404 })
    expect(problemIn(after).hint).toContain('initialize')
  })

  test('a session belongs to one caller', async () => {
    const headers = { 'mcp-session-id': await session() }
    expect((await post(rpc('tools/list'), headers, hub.token('bob'))).status).toBe(404)
    expect((await post(rpc('tools/list'), headers, hub.token('ada', 'observer'))).status).toBe(404)
    expect((await hub.request('DELETE', '/mcp', { token: hub.token('bob'), headers })).status).toBe(404)
    expect((await post(rpc('tools/list'), headers)).status).toBe(200)
  })

  test('a session is not needed for a single call', async () => {
    const answer = await post(rpc('tools/call', { name: 'signals_pending', arguments: {} }))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('mcp-session-id')).toBeNull()
    expect(answer.body['result']).toMatchObject({ structuredContent: { signals: [] } })
    const subscribed = await post(rpc('resources/subscribe', { uri: 'turnbell://signals/ada/pending' }))
    expect(subscribed.body['error']).toMatchObject({ message: expect.stringContaining('session') as string })
  })

  test('a session may not subscribe to another persona’s queue', async () => {
    const headers = { 'mcp-session-id': await session() }
    const answer = await post(rpc('resources/subscribe', { uri: 'turnbell://signals/bob/pending' }), headers)
    expect(answer.body['error']).toMatchObject({
      code: -32602,
      message: expect.stringContaining('identity_mismatch') as string,
      data: { code: 'identity_mismatch', retry: 'never' },
    })
  })

  test('a session distinguishes two requests with the same id', async () => {
    const calls = ['ada', 'bob'].map((identity) =>
      post(rpc('resources/list', {}, 7), {}, hub.token(identity)).then((answer) => answer.body),
    )
    expect(await Promise.all(calls)).toMatchObject([
      { id: 7, result: { resources: [{ uri: 'turnbell://signals/ada/pending' }] } },
      { id: 7, result: { resources: [{ uri: 'turnbell://signals/bob/pending' }] } },
    ])
  })

  test('a session gets a batch answered as a batch, without its notifications', async () => {
    const answer = await post([
      rpc('ping', {}, 'a'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      rpc('no/such/method', {}, 2),
    ])
    const answers = answer.body as unknown as { id: unknown }[]
    expect(answers).toHaveLength(2)
    expect(answers).toContainEqual({ jsonrpc: '2.0', id: 'a', result: {} })
    expect(answers).toContainEqual(
      expect.objectContaining({ id: 2, error: expect.objectContaining({ code: -32601 }) as object }),
    )
  })

  test.each(['2025-06-18', '2025-11-25', '2026-07-28'])(
    'a session gets no batch in revision %s',
    async (revision) => {
      const answer = await post([rpc('ping', {}, 1)], { 'mcp-protocol-version': revision })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({
        id: null,
        error: { code: -32600, data: { code: 'request_invalid' } },
      })
    },
  )

  test('a session receives the rejections of a batch among its answers', async () => {
    const answer = await post([rpc('ping', {}, 'a'), { id: 2, method: 'ping' }, { jsonrpc: '2.0', id: 3 }, 7])
    expect(answer.body).toMatchObject([
      { id: 2, error: { code: -32600 } },
      { id: 3, error: { code: -32600 } },
      { id: 'a', result: {} },
    ])
    expect((await post([{ id: 2, method: 'ping' }])).body).toMatchObject([{ id: 2, error: {} }])
  })

  test.each(['1764391000123456789', '1.5', '-9007199254740993'])(
    'a session gets %s back as its id',
    async (id) => {
      for (const method of ['ping', 'tools/list', 'no/such/method']) {
        const answer = await post(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":null}`)
        expect(answer.text).toContain(`"id":${id}`)
      }
      const call = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"signals_pending","arguments":[]}}`
      for (const body of [call, `[${call}]`]) expect((await post(body)).text).toContain(`"id":${id}`)
    },
  )

  test('a session of 2026-07-28 gets its id back as written, also in a stream', async () => {
    const id = '1764391000123456789'
    const modern = (method: string, params: object = {}) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify({ ...params, _meta })}}`
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
      return { body, headers: { ...headers, accept: 'application/json, text/event-stream' } }
    }
    for (const method of ['tools/list', 'no/such/method']) {
      const { body, headers } = modern(method)
      expect((await post(body, headers)).text).toContain(`"id":${id}`)
    }
    const { body, headers } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
    const answer = await fetch(`${hub.url}/mcp`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        authorization: `Bearer ${hub.token('ada')}`,
      },
      body,
    })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    const first = await reader?.read()
    await reader?.cancel()
    expect(first?.value).toContain(id)
    expect(first?.value).not.toContain(`"${id}"`)
  })

  test.each([
    ['a call of a tool', 'tools/call', { name: 'signals' }, 200, { result: { isError: true } }],
    [
      'anything else',
      'resources/read',
      {},
      400,
      { error: { code: -32602, data: { code: 'params_invalid' } } },
    ],
  ])('a session is told of a number that would be rounded: %s', async (_, method, params, status, told) => {
    const text = JSON.stringify(
      rpc(method, { ...params, arguments: { action: 'send', params: { payload: { id: 0 } } } }),
    )
    const answer = await post(text.replace('"payload":{"id":0}', '"payload":{"id":9007199254740993}'))
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ id: 1, ...told })
    expect(answer.text).toContain('payload.id: 9007199254740993 is beyond 2^53; send it as a text')
  })

  test('a session receives 202 for messages without a response', async () => {
    const answer = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([answer.status, answer.text]).toEqual([202, ''])
  })

  test('a session cancels a call: the connection closes, and the answer counts as not delivered', async () => {
    const headers = { 'mcp-session-id': await session() }
    const inside = new Promise<void>((resolve) => (entered = resolve))
    const call = post(rpc('tools/call', { name: 'holding', arguments: { action: 'hold' } }, 'c1'), headers)
    const failed = expect(call).rejects.toThrow()
    await inside
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } }, headers)
    await failed
    expect(await cancelled).toBe('broken')
    open()
  })

  test('a session cancels calls in a batch: the rest is answered, and only the rest counts as delivered', async () => {
    const headers = { 'mcp-session-id': await session() }
    const hold = (id: string) => rpc('tools/call', { name: 'holding', arguments: { action: 'hold' } }, id)
    const cancel = (requestId: string) =>
      post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, headers)
    fates = []
    const opens: (() => void)[] = []
    entered = () => opens.push(open)
    const call = post([hold('b1'), rpc('ping', {}, 'b2'), hold('b3')], headers)
    await eventually('both are held', () => opens.length === 2)
    await cancel('b1')
    opens[1]?.()
    const answers = (await call).body as unknown as { id: unknown }[]
    expect(answers.map(({ id }) => id).sort()).toEqual(['b2', 'b3'])
    expect(await Promise.all(fates)).toEqual(['broken', 'written'])
    opens[0]?.()
  })

  test('a session receives a batch at once when its last open call is cancelled', async () => {
    const headers = { 'mcp-session-id': await session() }
    const inside = new Promise<void>((resolve) => (entered = resolve))
    const hold = rpc('tools/call', { name: 'holding', arguments: { action: 'hold' } }, 'b4')
    const call = post([rpc('ping', {}, 'b5'), hold], headers)
    await inside
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'b4' } }, headers)
    expect((await call).body).toEqual([{ jsonrpc: '2.0', id: 'b5', result: {} }])
    expect(await cancelled).toBe('broken')
    open()
  })

  test('a session cannot cancel another session’s call', async () => {
    const headers = { 'mcp-session-id': await session() }
    const inside = new Promise<void>((resolve) => (entered = resolve))
    const call = post(rpc('tools/call', { name: 'holding', arguments: { action: 'hold' } }, 'c2'), headers)
    await inside
    const others = { 'mcp-session-id': await session(hub.token('bob')) }
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c2' } }
    expect((await post(cancel, others, hub.token('bob'))).status).toBe(202)
    expect((await post(cancel)).status).toBe(202)
    open()
    expect((await call).status).toBe(200)
    expect(await cancelled).toBe('written')
  })
})

test('a request whose body arrives after the hub began to stop is rejected, and delays nothing', async () => {
  const own = await startSmallHub()
  const body = JSON.stringify(rpc('tools/call', { name: 'signals_pending', arguments: {} }))
  const begun = eventsOnce(own.server, 'request')
  const request = httpRequest({
    port: own.port,
    path: '/mcp',
    method: 'POST',
    headers: {
      authorization: `Bearer ${own.token('ada')}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  const answered = new Promise<IncomingMessage>((resolve) => request.once('response', resolve))
  request.write(body.slice(0, 10))
  await begun
  const closed = own.close()
  // After everything that the stop does at once.
  await atRest()
  request.end(body.slice(10))
  const answer = await answered
  const problem = Problem.parse(JSON.parse(Buffer.concat((await answer.toArray()) as Buffer[]).toString()))
  expect([answer.statusCode, problem.code]).toEqual([503, 'hub_stopping'])
  await closed
})

describe('the stream of a session', () => {
  const streams: IncomingMessage[] = []
  const stream = async (headers: Record<string, string>, token = hub.token('ada')) => {
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port: hub.port,
      path: '/mcp',
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
    })
    const incoming = await new Promise<IncomingMessage>((resolve) => outgoing.once('response', resolve).end())
    streams.push(incoming)
    const heard = { status: incoming.statusCode, text: '', ended: false }
    incoming.on('data', (chunk: Buffer) => (heard.text += chunk.toString()))
    incoming.on('end', () => (heard.ended = true))
    return heard
  }

  test("a stream contains notifications of the session's subscriptions, and none after it unsubscribed", async () => {
    const headers = { 'mcp-session-id': await session() }
    const heard = await stream(headers)
    const uri = 'turnbell://signals/ada/pending'
    const push = () =>
      hub.request('POST', '/api/signals/send', { body: { to: 'ada', intent: 'x', priority: 0 } })
    await push()
    await post(rpc('resources/subscribe', { uri }), headers)
    await push()
    await eventually('the update', () => heard.text.includes('notifications/resources/updated'))
    await post(rpc('resources/unsubscribe', { uri }), headers)
    await push()
    hub.kernel.setGrants({ ...hub.kernel.grants(), facets: ['core', 'work'] })
    await eventually('the list changed', () => heard.text.includes('notifications/tools/list_changed'))
    expect(heard.text.match(/resources\/updated/g)).toHaveLength(1)
    expect(heard.text).not.toContain('payload')
  })

  test('a stream replaces the previous one of its session', async () => {
    const headers = { 'mcp-session-id': await session() }
    const first = await stream(headers)
    await stream(headers)
    await eventually('the first one ends', () => first.ended)
  })

  test('a stream needs a session and an Accept header', async () => {
    expect((await stream({})).status).toBe(405)
    expect((await stream({ 'mcp-session-id': await session(), accept: 'application/json' })).status).toBe(405)
    expect((await stream({ 'mcp-session-id': await session(hub.token('bob')) })).status).toBe(404)
  })

  afterAll(() => streams.forEach((incoming) => incoming.destroy()))
})

/** Returns the problem in an error; fails without one. */
const problemIn = (answer: Answer) => {
  const { error } = z.object({ error: z.object({ data: Problem }) }).parse(answer.body)
  return error.data
}

describe('an invalid MCP request', () => {
  test.each([
    ['invalid JSON', '{"jsonrpc"', 400, -32700],
    ['nested too deeply', `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 400, -32600],
    ['not JSON-RPC', { hello: 1 }, 400, -32600],
    ['an empty batch', [], 400, -32600],
    [
      'a batch that is too long',
      Array.from({ length: LIMITS.mcp_batch_max + 1 }, (_, n) => rpc('ping', {}, n)),
      400,
      -32600,
    ],
    ['initialize in a batch', [INITIALIZE, rpc('ping')], 400, -32600],
    [
      'an answer nested too deeply',
      `{"id":1,"result":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      400,
      -32600,
    ],
  ])('an invalid MCP request is rejected: %s', async (_, body, status, code) => {
    const answer = await post(body)
    expect(answer.status).toBe(status)
    expect(answer.body['error']).toMatchObject({ code })
    expect(problemIn(answer)).toMatchObject({ code: 'request_invalid', status })
  })

  test.each([
    ['an unknown method', 'no/such/method', -32601],
    ['a call without a name', 'tools/call', -32602],
    ['a greeting that does not say whose', 'initialize', -32602],
    ['a look at no resource', 'resources/read', -32602],
  ])('an invalid MCP request is rejected by the SDK with a problem: %s', async (_, method, code) => {
    const answer = await post(rpc(method))
    expect(answer.body['error']).toMatchObject({ code })
    expect(problemIn(answer)).toMatchObject({ code: 'request_invalid' })
    expect(hub.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  test.each([
    ['an unknown method', 'no/such/method', -32601, 404],
    ['a call without a name', 'tools/call', -32602, 200],
    ['a look at no resource', 'resources/read', -32602, 200],
  ])(
    'an invalid MCP request of 2026-07-28 is rejected with a problem: %s',
    async (_, method, code, status) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
      const answer = await post(rpc(method, { _meta }), {
        accept: 'application/json, text/event-stream',
        ...headers,
      })
      expect(answer.status).toBe(status)
      expect(answer.body['error']).toMatchObject({ code })
      expect(problemIn(answer)).toMatchObject({ code: 'request_invalid' })
    },
  )

  test('an invalid MCP request is rejected: another content type, another method, another version', async () => {
    const text = await post('x', { 'content-type': 'text/plain' })
    expect([text.status, problemIn(text).status]).toEqual([415, 415])
    const put = await hub.request('PUT', '/mcp', { body: {} })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE'])
    expect(problemIn(put)).toMatchObject({ code: 'request_invalid', status: 405 })
    const version = await post(rpc('ping'), { 'mcp-protocol-version': '1999-01-01' })
    expect(version.status).toBe(400)
    expect(problemIn(version).detail).toContain('2025-11-25')
  })
})

describe('the 2026-07-28 era', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const modern = (
    method: string,
    params: object = {},
    headers: Record<string, string> = {},
    token?: string,
  ) =>
    post(
      rpc(method, { ...params, _meta: meta }),
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      token,
    )

  test('a server of 2026-07-28 is discovered without a session', async () => {
    const answer = await modern('server/discover')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('mcp-session-id')).toBeNull()
    expect(answer.body['result']).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      instructions: expect.stringContaining('doorbell') as string,
    })
  })

  test('a server of 2026-07-28 lists per caller', async () => {
    const names = async (token: string) =>
      (
        (await modern('tools/list', {}, {}, token)).body['result'] as unknown as { tools: { name: string }[] }
      ).tools.map(({ name }) => name)
    expect(await names(hub.token('ada'))).toEqual([
      ...['signals_pending', 'signals', ...MEMORY, 'workflow', 'store', 'routine', 'git'],
      ...DISCOVERY,
      'holding',
    ])
    expect(await names(hub.token('ada', 'observer'))).toEqual([
      ...['signals', ...MEMORY, 'workflow', 'store', 'routine', 'git'],
      ...DISCOVERY,
    ])
    expect(await names(hub.token('ada', 'daemon'))).toEqual([])
  })

  test('a call of 2026-07-28 is answered identically on the fast path and through the SDK', async () => {
    const call = (name: string) =>
      modern(
        'tools/call',
        { name: 'signals', arguments: { action: 'inbox', params: { status: ['dead'] } } },
        { 'mcp-name': name },
      )
    const direct = await call('signals')
    const entry = await call('=?base64?c2lnbmFscw==?=')
    expect(direct.status).toBe(200)
    expect(direct.body).toEqual(entry.body)
    expect(direct.headers.get('content-type')).toBe(entry.headers.get('content-type'))
  })

  test('headers of 2026-07-28 that contradict the body are rejected', async () => {
    const call = { name: 'signals_pending', arguments: { peek: true } }
    expect((await modern('tools/call', call, { 'mcp-name': 'signals' })).status).toBe(400)
    expect((await modern('tools/call', call, { 'mcp-method': 'tools/list' })).status).toBe(400)
    expect((await modern('tools/call', call, { 'mcp-protocol-version': '2025-11-25' })).status).toBe(400)
    expect((await modern('tools/call', call)).status).toBe(400)
    // The encoded form of `x`.
    const encoded = '=?base64?eA==?='
    expect((await modern('tools/call', { name: encoded }, { 'mcp-name': encoded })).status).toBe(400)
  })

  test('a caller of 2026-07-28 cannot subscribe to another persona’s queue', async () => {
    const answer = await modern('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['turnbell://signals/bob/pending', 'file:///etc/passwd'] },
    })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('notifications/subscriptions/acknowledged')
    expect(answer.text).not.toContain('bob')
  })
})

test.each(['turnbell://signals/bob/pending', 'turnbell://signals/ada/past', 'file:///etc/passwd'])(
  'a resource that is not a queue of the caller is rejected with a problem: %s',
  async (uri) => {
    const answer = await post(rpc('resources/read', { uri }))
    expect(answer.body['error']).toMatchObject({ code: -32602 })
    expect(problemIn(answer)).toMatchObject({
      code: 'identity_mismatch',
      detail: expect.stringContaining(uri) as string,
    })
  },
)

describe('drains by a model', () => {
  let own: SmallHub
  beforeEach(async () => {
    own = await startSmallHub()
    await own.personas.add({ identity: 'eve', surface: 'mcp' })
  })
  afterEach(() => own.close())

  const waiting = async (count: number, bytes: number) => {
    const payload = 'x'.repeat(bytes)
    for (let n = 0; n < count; n++) {
      const body = { to: 'eve', intent: 'note', payload }
      expect((await own.request('POST', '/api/signals/send', { body })).status).toBe(200)
    }
  }
  interface Drained {
    content: { text: string }[]
    structuredContent: { signals: object[]; remaining: number }
  }
  const drain = async (args: object, name = 'signals_pending') => {
    const { body } = await own.request('POST', '/mcp', {
      token: own.token('eve'),
      body: rpc('tools/call', { name, arguments: args }),
      headers: { accept: 'application/json, text/event-stream' },
    })
    const { content, structuredContent } = body['result'] as unknown as Drained
    const { signals, remaining } = structuredContent
    return { shown: content[0]?.text.length ?? 0, count: signals.length, remaining }
  }

  test('drains by a model fit what every client shows, and all signals arrive', async () => {
    await waiting(20, 600)
    let all = 0
    for (let left = 1; left > 0;) {
      const { shown, count, remaining } = await drain({})
      expect(shown).toBeLessThan(9_000)
      all += count
      left = remaining
    }
    expect(all).toBe(20)
  })

  test('drains by a model contain a dozen short signals at once, and a long one alone', async () => {
    await waiting(12, 100)
    expect(await drain({}, 'prism_signals_pending')).toMatchObject({ count: 12, remaining: 0 })
    await waiting(2, 20_000)
    expect(await drain({ action: 'pending' }, 'signals')).toMatchObject({ count: 1, remaining: 1 })
    expect(await drain({})).toMatchObject({ count: 1, remaining: 0 })
  })

  test.each([
    ['signals_pending', { limit: 20 }, 9_000],
    ['signals_pending', { limit: 100 }, 45_000],
    ['signals_pending', { limit: 100, max_tokens: 30_000 }, 45_000],
    ['signals_pending', { limit: 5, max_tokens: 500 }, 2_100],
    ['tool_invoke', { name: 'signals_pending' }, 9_000],
    ['tool', { action: 'invoke', params: { name: 'prism_signals_pending', args: '{}' } }, 9_000],
  ])('drains by %s %j are limited as well', async (name, args, characters) => {
    await waiting(60, 900)
    const { shown, remaining } = await drain(args, name)
    expect(shown).toBeLessThan(characters)
    expect(shown).toBeGreaterThan(characters / 2)
    expect(remaining).toBeGreaterThan(0)
  })
})

test('the operator sees every queue as a resource, and reads without draining', async () => {
  const asOperator = (method: string, params: object = {}) => post(rpc(method, params), {}, hub.operator)
  const listed = (await asOperator('resources/list')).body['result'] as unknown as {
    resources: { uri: string }[]
  }
  expect(listed.resources.map(({ uri }) => uri)).toEqual([
    'turnbell://signals/ada/pending',
    'turnbell://signals/bob/pending',
  ])
  const before = hub.store.pendingCount('ada')
  const read = await asOperator('resources/read', { uri: 'turnbell://signals/ada/pending' })
  expect(read.body['result']).toMatchObject({ contents: [{ mimeType: 'application/json' }] })
  expect(hub.store.pendingCount('ada')).toBe(before)
})
