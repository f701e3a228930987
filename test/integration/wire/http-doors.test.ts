/** Tests access: tokens, kinds, hosts and origins, and open connections when the hub stops. */
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { tokenOf, redactUrl } from '../../../src/transports/http/guard.ts'
import { liveHub, type LiveHub } from '../../support/worlds/live-hub.ts'
import { refusedWith, startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'
import { defineAction, defineFacade } from '../../../src/kernel/define.ts'
import * as z from 'zod'

describe('a running hub', () => {
  let hub: SmallHub
  beforeAll(async () => {
    hub = await startSmallHub()
    for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
  })
  afterAll(() => hub.close())

  const PROTECTED = [
    ['GET', '/metrics'],
    ['POST', '/call'],
    ['POST', '/batch'],
    ['GET', '/facades'],
    ['GET', '/tools'],
    ['GET', '/openapi.json'],
    ['GET', '/asyncapi.json'],
    ['GET', '/events'],
    ['POST', '/hook/codex'],
    ['POST', '/auth/token'],
    ['POST', '/api/signals/inbox'],
    ['POST', '/mcp'],
    ['GET', '/mcp'],
    ['DELETE', '/mcp'],
    ['GET', '/no/such/route'],
  ] as const

  test.each(PROTECTED)('the hub requires a token for %s %s', async (method, path) => {
    const refused = async (token: string | null) => (await hub.request(method, path, { token })).body['code']
    expect(await refused(null)).toBe('token_missing')
    expect(await refused('made.up')).toBe('token_invalid')
    expect(await refused(hub.expiredToken('ada'))).toBe('token_expired')
    const missing = await hub.request(method, path, { token: null })
    expect(missing.status).toBe(401)
    expect(missing.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('a scheme other than Bearer is not a token', async () => {
    const answer = await hub.request('GET', '/facades', {
      token: null,
      headers: { authorization: 'Basic YTpi' },
    })
    expect(answer.body['code']).toBe('token_invalid')
  })

  // Expected statuses for each kind of caller and action.
  const send = { to: 'bob', intent: 'x', priority: 0 }
  test.each([
    ['operator', 'signals/send', send, 200],
    ['agent', 'signals/send', send, 200],
    ['daemon', 'signals/send', send, 403],
    ['observer', 'signals/send', send, 403],
    ['operator', 'signals/pending', {}, 200],
    ['agent', 'signals/pending', {}, 200],
    ['daemon', 'signals/pending', {}, 403],
    ['observer', 'signals/pending', {}, 403],
    ['operator', 'signals/inbox', {}, 200],
    ['agent', 'signals/inbox', {}, 200],
    ['daemon', 'signals/inbox', {}, 403],
    ['observer', 'signals/inbox', {}, 200],
    ['operator', 'personas/add', { identity: 'bob', surface: 'mcp' }, 200],
    ['agent', 'personas/add', { identity: 'eve', surface: 'mcp' }, 403],
    ['daemon', 'personas/wrap', { identity: 'bob' }, 403],
    ['observer', 'personas/remove', { identity: 'bob' }, 403],
    ['agent', 'personas/list', {}, 200],
    ['daemon', 'personas/get', { identity: 'bob' }, 200],
    ['observer', 'personas/list', {}, 200],
    ['agent', 'projects/list', {}, 403],
    ['agent', 'projects/remove', { project: '/x' }, 403],
    ['operator', 'projects/list', {}, 200],
  ] as const)('access of the %s to %s follows its kind', async (kind, action, body, status) => {
    const token = kind === 'operator' ? hub.operator : hub.token('ada', kind)
    const answer = await hub.request('POST', `/api/${action}`, { token, body })
    expect(answer.status, answer.text).toBe(status)
    if (status === 403) expect(['kind_forbidden', 'operator_required']).toContain(answer.body['code'])
  })

  test("an agent cannot read another persona's inbox or signals", async () => {
    const sent = await hub.request('POST', '/api/signals/send', { body: send })
    const asAda = { token: hub.token('ada') }
    expect((await hub.request('GET', '/api/signals/inbox?to=bob', asAda)).body['code']).toBe(
      'identity_mismatch',
    )
    const read = await hub.request(
      'GET',
      `/api/signals/read?signal_id=${sent.body['signal_id'] as string}`,
      asAda,
    )
    expect(read.status).toBeGreaterThanOrEqual(400)
    const dead = await hub.request('POST', '/api/signals/replay', {
      ...asAda,
      body: { signal_ids: [sent.body['signal_id']] },
    })
    expect(dead.body['replayed']).toEqual([])
  })

  test('only /mcp also accepts a token in the query', async () => {
    const token = hub.token('ada')
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const mcp = await hub.request('POST', `/mcp?token=${token}`, { token: null, body: ping })
    expect(mcp.body).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    expect((await hub.request('GET', `/facades?token=${token}`, { token: null })).body['code']).toBe(
      'token_missing',
    )
  })

  test('token requests are rate-limited', async () => {
    const ask = () => hub.request('POST', '/auth/token', { body: { identity: 'ada', kind: 'agent' } })
    const statuses = new Set<number>()
    for (let asked = 0; asked <= LIMITS.token_requests_per_minute_max; asked += 50) {
      for (const answer of await Promise.all(Array.from({ length: 50 }, ask))) {
        statuses.add(answer.status)
        if (answer.status === 429)
          expect(answer.body).toMatchObject({ code: 'rate_limited', retry: 'after_delay' })
      }
    }
    expect([...statuses].sort()).toEqual([200, 429])
    expect((await hub.request('GET', '/facades')).status).toBe(200)
  })
})

describe('a token', () => {
  test('a token in the header takes precedence over one in the query', () => {
    expect(tokenOf({ authorization: 'Bearer a.b' }, '/ws?token=c.d')).toBe('a.b')
    expect(tokenOf({ authorization: 'bearer  a.b ' })).toBe('a.b')
    expect(tokenOf({}, '/ws?x=1&token=c.d')).toBe('c.d')
    expect(tokenOf({}, '/ws')).toBeNull()
    expect(tokenOf({})).toBeNull()
  })

  test('a token is never logged', () => {
    expect(redactUrl('/mcp?token=secret&x=1')).toBe('/mcp?token=REDACTED&x=1')
    expect(redactUrl('/ws?a=1&TOKEN=secret')).toBe('/ws?a=1&TOKEN=REDACTED')
    expect(redactUrl('/call')).toBe('/call')
  })

  test('a malformed token is rejected before the body is read', async () => {
    expect(await refusedWith(() => tokenOf({ authorization: 'Bearer' }))).toBe('token_invalid')
    expect(await refusedWith(() => tokenOf({ authorization: 'Bearer a b' }))).toBe('token_invalid')
  })
})

describe('every endpoint of a hub', () => {
  let hub: LiveHub
  beforeAll(async () => {
    hub = await liveHub()
  })
  afterAll(() => hub.close())
  const port = () => Number(new URL(hub.url).port)

  const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  const UPGRADE = [
    ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ]
  /** All endpoints. `asks`: the response to a request without a token. */
  const DOORS = [
    { door: '/health', method: 'GET', lines: [], body: '', asks: 'nothing', in_query: false, status: 200 },
    { door: '/ready', method: 'GET', lines: [], body: '', asks: 'nothing', in_query: false, status: 200 },
    { door: '/facades', method: 'GET', lines: [], body: '', asks: 'token', in_query: false, status: 200 },
    {
      door: '/api/signals/inbox',
      method: 'POST',
      lines: ['Content-Type: application/json'],
      body: '{}',
      asks: 'token',
      in_query: false,
      status: 200,
    },
    {
      door: '/mcp',
      method: 'POST',
      body: PING,
      asks: 'token',
      in_query: true,
      status: 200,
      lines: ['Content-Type: application/json', 'Accept: application/json, text/event-stream'],
    },
    // The token is checked with the first frame, which may contain it.
    { door: '/ws', method: 'GET', lines: UPGRADE, body: '', asks: 'later', in_query: true, status: 101 },
  ] as const

  const AT_THE_FIRST_FRAME = ['no token', 'two authorizations', 'Authorization Bearer made.up']

  interface Form {
    form: string
    /** Replaces the hub's own host; null for none. */
    host?: string | null
    origins?: string[]
    authorization?: string[]
    in_query?: boolean
    refused: boolean
  }
  /** All headers that the endpoints check, in all forms that they distinguish. */
  const formsOf = (own: string, port: number, token: string): Form[] => [
    { form: 'its own host', refused: false },
    { form: 'localhost', host: `localhost:${port}`, refused: false },
    { form: 'its own host in capitals', host: `LOCALHOST:${port}`, refused: false },
    ...[
      ...[
        null,
        '',
        'evil.example',
        `evil.example:${port}`,
        `127.0.0.1:${port + 1}`,
        '127.0.0.1',
        'localhost',
      ],
      ...[`${own}.evil.example`, `evil.${own}`, `evil@${own}`, `${own}, evil.example`, `http://${own}`],
    ].map((host) => ({ form: `Host ${String(host)}`, host, refused: true })),
    ...[`http://${own}`, `https://${own}`, `HTTP://${own}`, `http://LOCALHOST:${port}`].map((origin) => ({
      form: `Origin ${origin}`,
      origins: [origin],
      refused: false,
    })),
    ...[
      ...['', 'null', 'file://', 'http://localhost', 'https://evil.example', own, `//${own}`, `ws://${own}`],
      ...[`http://${own}/`, `http://evil@${own}`, `http://${own}.evil.example`, `http://${own}, http://evil`],
    ].map((origin) => ({ form: `Origin ${origin}`, origins: [origin], refused: true })),
    { form: 'two origins', origins: [`http://${own}`, 'https://evil.example'], refused: true },
    ...[`Bearer ${token}`, `bearer   ${token}`, `BEARER ${token} `].map((authorization) => ({
      form: authorization.replace(token, 'TOKEN'),
      authorization: [authorization],
      refused: false,
    })),
    ...['', 'Bearer', 'Bearer ', token, `Basic ${token}`, `Bearer ${token} more`, 'Bearer made.up'].map(
      (authorization) => ({
        form: `Authorization ${authorization.replace(token, 'TOKEN')}`,
        authorization: [authorization],
        refused: true,
      }),
    ),
    { form: 'two authorizations', authorization: ['Bearer made.up', `Bearer ${token}`], refused: true },
    {
      form: 'a wrong header before a token in the query',
      authorization: ['Basic x'],
      in_query: true,
      refused: true,
    },
    { form: 'no token', authorization: [], refused: true },
    { form: 'a token in the query', authorization: [], in_query: true, refused: false },
  ]

  /** Sends a raw request, because fetch sets some of these headers itself. Resolves with the status. */
  const knock = (lines: readonly string[], body: string) =>
    new Promise<number>((resolve, reject) => {
      const socket = connect(port(), '127.0.0.1')
      let text = ''
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`no status in ${JSON.stringify(text)}`)))
      socket.on('data', (data) => {
        text += data.toString('latin1')
        const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
        if (status === undefined) return
        resolve(Number(status))
        socket.destroy()
      })
      socket.write(`${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`)
    })

  test.each(DOORS)(
    '$door rejects invalid values of Host, Origin and Authorization, and accepts valid ones',
    async (at) => {
      const own = `127.0.0.1:${port()}`
      const token = hub.token('ada')
      for (const { form, host = own, origins = [], authorization, in_query = false, refused } of formsOf(
        own,
        port(),
        token,
      )) {
        const about_token = authorization !== undefined
        const status = await knock(
          [
            `${at.method} ${at.door}${in_query ? `?token=${token}` : ''} HTTP/1.1`,
            ...(host === null ? [] : [`Host: ${host}`]),
            ...origins.map((origin) => `Origin: ${origin}`),
            ...(authorization ?? [`Bearer ${token}`]).map((value) => `Authorization: ${value}`),
            ...at.lines,
          ],
          at.body,
        )
        const only_in_query = form === 'a token in the query' && !at.in_query
        const needs_none =
          about_token && (at.asks === 'nothing' || (at.asks === 'later' && AT_THE_FIRST_FRAME.includes(form)))
        const expected = (refused || only_in_query) && !needs_none ? 'refused' : at.status
        expect([400, 401, 403].includes(status) ? 'refused' : status, `${at.door}: ${form}`).toBe(expected)
      }
    },
  )
})

describe('a stopping hub', () => {
  let hub: SmallHub
  let finish: () => void
  let entered: Promise<void>
  afterEach(() => finish())

  const slowFacade = () => {
    let enter: () => void
    entered = new Promise((resolve) => (enter = resolve))
    const gate = new Promise<void>((resolve) => (finish = resolve))
    return defineFacade({
      name: 'slow',
      summary: 'Waits.',
      compact: 'Waits.',
      facet: 'core',
      actions: {
        wait: defineAction({
          summary: 'Waits.',
          mutates: true,
          input: z.strictObject({}),
          output: z.object({ done: z.boolean() }),
          errors: [],
          allow: [],
          handle: async () => {
            enter()
            await gate
            return { done: true }
          },
        }),
      },
    })
  }

  const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
  const toolCall = (meta: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'slow_wait', arguments: {}, _meta: meta },
  })
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  test.each([
    ['/api', '/api/slow/wait', {}, {}],
    ['/mcp of the 2025 era', '/mcp', toolCall({}), {}],
    ['/mcp of 2026-07-28', '/mcp', toolCall(envelope), { ...MODERN, 'mcp-name': 'slow_wait' }],
    ['the SDK’s entry', '/mcp', toolCall(envelope), { ...MODERN, 'mcp-name': '=?base64?c2xvd193YWl0?=' }],
  ])(
    'a stopping hub finishes running calls and accepts no new ones, over %s',
    async (_, path, body, headers) => {
      hub = await startSmallHub({ facades: [slowFacade()] })
      const kept = connect(hub.port, '127.0.0.1')
      await new Promise((resolve) => kept.once('connect', resolve))
      const running = hub.request('POST', path, { body, headers })
      await entered
      const closed = hub.close()

      let text = ''
      const answered = new Promise<void>((resolve) =>
        kept.on('data', (chunk) => {
          text += chunk.toString()
          resolve()
        }),
      )
      kept.write(
        `GET /facades HTTP/1.1\r\nHost: 127.0.0.1:${hub.port}\r\nAuthorization: Bearer ${hub.operator}\r\n\r\n`,
      )
      await answered
      expect(text).toMatch(/^HTTP\/1\.1 503 /)
      expect(text).toContain('"code":"hub_stopping"')
      expect(text.toLowerCase()).toContain('connection: close')

      finish()
      const answer = await running
      expect(answer.status).toBe(200)
      expect(answer.text).toContain('"done":true')
      await closed
      kept.destroy()
    },
  )
})
