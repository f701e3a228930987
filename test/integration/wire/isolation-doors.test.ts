/** Compares access to each route, frame and method with the rule of `who-may.ts`. */
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ClientFrame, type HubFrame } from '../../../src/contracts/frames.ts'
import type { Kernel } from '../../../src/kernel/dispatch.ts'
import { projectMcp } from '../../../src/kernel/projections/project-mcp.ts'
import { FIXED_ROUTES } from '../../../src/transports/http/routes.ts'
import { createMcpServer, type McpServerOptions } from '../../../src/transports/mcp/server.ts'
import { accessOf, invalidTokens, signed, validHolders, type Holder } from '../../support/worlds/isolation.ts'
import { liveHub, OPERATOR_TOKEN, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'
import { smallKernel } from '../../support/worlds/small-kernel.ts'
import { FRAMES, METHODS, NOT_FOR_THE_OPERATOR, ROUTES, type Kind } from '../../support/worlds/who-may.ts'

const KINDS: readonly Kind[] = ['agent', 'daemon', 'observer']

let hub: LiveHub
let cells = 0
const wrong: string[] = []

function judge(what: string, found: string, expected: string): void {
  cells += 1
  if (found !== expected) wrong.push(`${what}: ${found}, by the rule ${expected}`)
}

beforeAll(async () => {
  hub = await liveHub()
  for (const identity of ['ada', 'bob']) await hub.call('personas', 'add', { identity, surface: 'mcp' })
})
afterAll(async () => {
  await hub.close()
  process.stdout.write(`isolation of doors: ${cells} cells\n`)
})

describe('a route', () => {
  test('every route is classified, and no unknown one is listed', () => {
    const source = fs.readFileSync(
      path.join(import.meta.dirname, '../../../src/transports/http/server.ts'),
      'utf8',
    )
    const served = [
      ...source.matchAll(/\b(?:app|scope)\s*\.(get|post|put|patch|delete)(?:<[^(]*>)?\(\s*'([^']+)'/g),
    ]
    const listed = Object.values(FIXED_ROUTES).map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    const found = served.map(([, method = '', url]) => `${method.toUpperCase()} ${url}`)
    expect([...new Set([...listed, ...found])].toSorted()).toEqual(
      Object.keys(ROUTES)
        .filter((route) => !/ \/(mcp|ws)$/.test(route))
        .toSorted(),
    )
  })

  test('access to a route follows the rule', async () => {
    for (const [route, may] of Object.entries(ROUTES)) {
      for (const { name, kind, token } of plainHolders()) {
        const is_open =
          may === 'open' || (kind === 'operator' ? !NOT_FOR_THE_OPERATOR.includes(route) : may.includes(kind))
        const found = await passing(route, token, {}, kind)
        judge(`${name}, ${route}`, found, is_open ? 'reached' : 'kind_forbidden')
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test('a route that needs a token rejects invalid ones', async () => {
    for (const [route, may] of Object.entries(ROUTES)) {
      for (const [name, token, code] of invalidTokens(hub))
        judge(`${name}, ${route}`, await passing(route, token), may === 'open' ? 'reached' : code)
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test.each([
    ['a page of another site', { origin: 'https://evil.example' }],
    ['a page of no site', { origin: 'null' }],
    ['a name that leads here', { host: 'evil.example' }],
    ['a name that leads here, with the port', { host: 'evil.example:PORT' }],
  ])('a route rejects every %s, whatever its token', async (name, headers) => {
    const own = new URL(hub.url).port
    const sent = Object.fromEntries(
      Object.entries(headers).map(([key, value]) => [key, value.replace('PORT', own)]),
    )
    for (const route of Object.keys(ROUTES)) {
      for (const token of [OPERATOR_TOKEN, null])
        judge(`${name}, ${route}`, await passing(route, token, sent), 'origin_forbidden')
    }
    expect(wrong.splice(0)).toEqual([])
  })
})

/** Returns one valid caller of each kind. */
function plainHolders(): Holder[] {
  return validHolders(hub).filter(({ read_only, closed }) => read_only !== true && closed !== true)
}

/** Returns the code of the error, `reached`, or another result. */
function passing(
  route: string,
  token: string | null,
  headers: Record<string, string> = {},
  kind: Holder['kind'] = 'agent',
): Promise<string> {
  const [method = '', url = ''] = route.split(' ')
  const body =
    route === 'POST /auth/token'
      ? { identity: 'ada', kind: kind === 'operator' ? 'agent' : kind }
      : BODIES[route]
  const upgrade = url === '/ws' ? UPGRADE : {}
  return new Promise((resolve, reject) => {
    const request = http.request(`${hub.url}${url.replace(':client', 'claude-code')}`, {
      method,
      headers: {
        ...upgrade,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    })
    request.on('upgrade', (_, socket) => {
      socket.destroy()
      resolve('reached')
    })
    request.on('response', (response) => {
      // An event stream has started, so access was granted.
      if (response.headers['content-type']?.includes('event-stream') === true) {
        request.destroy()
        return resolve('reached')
      }
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve(codeIn(text, response.statusCode ?? 0)))
    })
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const BODIES: Readonly<Record<string, object>> = {
  'POST /call': { tool: 'personas', action: 'list' },
  'POST /batch': { calls: [] },
  'POST /activity': { session_id: 'x', client: 'codex', events: [] },
  'POST /hook/:client': { hook_event_name: 'Stop', session_id: 'x' },
  'POST /session/end': {},
  'POST /mcp': { jsonrpc: '2.0', id: 1, method: 'ping' },
}

function codeIn(text: string, status: number): string {
  if (status < 400) return 'reached'
  const { code } = (text.startsWith('{') ? JSON.parse(text) : {}) as { code?: string }
  return accessOf(code) === 'reached' && (status === 401 || status === 403)
    ? `${status} without a code`
    : accessOf(code)
}

describe('a token', () => {
  test.each([
    ['agent', 'agent', 'ada', 'reached'],
    ['agent', 'observer', 'ada', 'operator_required'],
    ['agent', 'daemon', 'ada', 'operator_required'],
    ['agent', 'agent', 'bob', 'operator_required'],
    ['daemon', 'daemon', 'ada', 'reached'],
    ['daemon', 'agent', 'ada', 'operator_required'],
    ['daemon', 'daemon', 'bob', 'operator_required'],
    ['observer', 'observer', 'ada', 'reached'],
    ['observer', 'agent', 'ada', 'operator_required'],
    ['observer', 'observer', 'bob', 'operator_required'],
  ] as const)(
    'a token of the %s ada is exchanged for one of the %s %s: %s',
    async (own, kind, identity, expected) => {
      cells += 1
      expect(await issued(hub.token('ada', own), { kind, identity })).toBe(expected)
    },
  )

  test.each([
    ['another session', { session_id: 'ada-1' }, { session_id: 'ada-2' }, 'identity_mismatch'],
    ['its own session', { session_id: 'ada-1' }, { session_id: 'ada-1' }, 'reached'],
    [
      'a facet that it does not name',
      { facets: ['core'] },
      { facets: ['core', 'admin'] },
      'operator_required',
    ],
    ['facets that it names', { facets: ['core', 'work'] }, { facets: ['core'] }, 'reached'],
  ])('a token is renewed for %s: %j', async (_, own, asked, expected) => {
    cells += 1
    expect(await issued(signed(hub, own), { identity: 'ada', kind: 'agent', ...asked })).toBe(expected)
  })
})

async function issued(token: string, body: object): Promise<string> {
  const response = await hub.http('POST', '/auth/token', { token, body })
  return codeIn(await response.text(), response.status)
}

type Frame = { type: string } & Record<string, unknown>

/** A valid sample of each frame. */
const SAMPLES: Readonly<Record<string, Frame>> = {
  hello: { type: 'hello', protocol: 1, kind: 'agent', identity: 'ada' },
  heartbeat: { type: 'heartbeat', seq: 1 },
  doorbell: {
    type: 'doorbell',
    stage: 'seen',
    doorbell_id: '01JZ0000000000000000000000',
    signal_id: '01JZ0000000000000000000000',
  },
  'pending.peek': { type: 'pending.peek', id: 'x' },
  subscribe: { type: 'subscribe', id: 'x', channel: 'global' },
  unsubscribe: { type: 'unsubscribe', id: 'x', channel: 'global' },
  publish: { type: 'publish', id: 'x', channel: 'topics/x', event: 'x', data: 1 },
  ack: { type: 'ack', message_id: 'x' },
  call: { type: 'call', id: 'x', facade: 'personas', action: 'list', params: {} },
  ping: { type: 'ping' },
}
/** Type of the response to each accepted frame; the others have no response. */
const ANSWERED: Readonly<Record<string, HubFrame['type']>> = {
  'pending.peek': 'pending',
  subscribe: 'result',
  unsubscribe: 'result',
  publish: 'result',
  call: 'result',
  ping: 'pong',
}

describe('a frame', () => {
  test('every frame is classified, and no unknown one is listed', () => {
    const types = ClientFrame.options.map(({ shape }) => shape.type.value)
    expect(Object.keys(FRAMES).toSorted()).toEqual(types.toSorted())
    expect(Object.keys(SAMPLES).toSorted()).toEqual(types.toSorted())
  })

  test('access to a frame follows the rule', async () => {
    for (const kind of KINDS) {
      for (const [type, rule] of Object.entries(FRAMES)) {
        const client = await hub.join('ada', kind)
        const before = client.frames.length
        client.send(SAMPLES[type] ?? {})
        await client.settled()
        const answers = client.frames.slice(before).filter((frame) => isAnswer(frame, type))
        judge(
          `${kind}, ${type}`,
          outcomeOf(answers, type),
          rule[kind] === 'refused' ? 'refused' : (ANSWERED[type] ?? 'silence'),
        )
        await ended(client)
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test.each(Object.keys(FRAMES).filter((type) => type !== 'hello'))(
    '%s closes a link without a hello',
    async (type) => {
      cells += 1
      const client = await hub.dial({ token: hub.token('ada') })
      client.send(SAMPLES[type] ?? {})
      expect(await client.closed).toBe(4401)
    },
  )
})

/** Peers come and go in the meantime, and a pong is only the end of the wait. */
function isAnswer(frame: HubFrame, type: string): boolean {
  if (frame.type === 'pong') return type === 'ping'
  return frame.type !== 'event' && !frame.type.startsWith('peer.')
}

function outcomeOf(answers: readonly HubFrame[], type: string): string {
  const [first] = answers
  if (first?.type === 'error') return 'refused'
  return first === undefined || type === 'hello' ? 'silence' : first.type
}

async function ended(client: Client): Promise<void> {
  client.socket.terminate()
  await client.closed
}

describe('a hello', () => {
  const identities = ['ada', 'bob', 'operator']

  test('a hello is accepted only for the kind and persona of its token', async () => {
    for (const own of KINDS) {
      for (const kind of KINDS) {
        for (const identity of identities) {
          for (const session_id of [undefined, 'ada-1', 'ada-2']) {
            const token = hub.token('ada', own, 'ada-1')
            const is_own = own === kind && identity === 'ada' && session_id !== 'ada-2'
            const what = `${own} as ${kind} ${identity} ${session_id}`
            judge(what, await greeted(token, { kind, identity, session_id }), is_own ? 'welcome' : 'refused')
          }
        }
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test('a hello of the operator is accepted for any persona, and for its own name only as an observer', async () => {
    for (const kind of KINDS) {
      for (const identity of identities) {
        const expected = identity === 'operator' && kind !== 'observer' ? 'refused' : 'welcome'
        judge(`operator as ${kind} ${identity}`, await greeted(OPERATOR_TOKEN, { kind, identity }), expected)
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test('a hello with an invalid token is rejected, wherever the token is sent', async () => {
    for (const [name, token] of invalidTokens(hub)) {
      const hello = { kind: 'agent', identity: 'ada' }
      judge(
        `${name}, in the hello`,
        await greeted(null, { ...hello, ...(token === null ? {} : { token }) }),
        'refused',
      )
      if (token === null) continue
      judge(`${name}, in the header`, await greeted(token, hello), 'refused')
      judge(
        `${name}, in the address`,
        await greeted(null, hello, `?token=${encodeURIComponent(token)}`),
        'refused',
      )
    }
    expect(wrong.splice(0)).toEqual([])
  })

  async function greeted(token: string | null, hello: object, query = ''): Promise<string> {
    const client = await hub.dial({ token, query })
    client.send({ type: 'hello', protocol: 1, ...hello })
    const welcomed = client.next('welcome').then(() => 'welcome')
    const outcome = await Promise.race([welcomed.catch(() => 'refused'), client.closed.then(() => 'refused')])
    await ended(client)
    return outcome
  }
})

describe('a channel', () => {
  const CHANNELS = [
    'global',
    'topics/x',
    'agents/ada',
    'agents/bob',
    'sessions/own',
    'sessions/other',
    'metrics',
  ]
  const OTHERS = ['agents/bob', 'sessions/other', 'metrics']

  test('access to a channel follows the rule', async () => {
    for (const kind of KINDS) {
      const client = await hub.join('ada', kind, kind === 'observer' ? {} : { session_id: 'own' })
      for (const channel of CHANNELS) {
        const hears = kind === 'observer' || !OTHERS.includes(channel)
        const speaks = kind === 'agent' && hears
        for (const [type, may] of [
          ['subscribe', hears],
          ['publish', speaks],
        ] as const) {
          const answer = await client.ask<HubFrame>({
            type,
            channel,
            ...(type === 'publish' ? { event: 'x', data: 1 } : {}),
          })
          judge(
            `${kind}, ${type} ${channel}`,
            answer.type === 'error' ? answer.code : 'done',
            may ? 'done' : 'kind_forbidden',
          )
        }
      }
      await ended(client)
    }
    expect(wrong.splice(0)).toEqual([])
  })
})

describe('a method of MCP', () => {
  test('every MCP method is classified, and no unknown one is listed', () => {
    const kernel = smallKernel([]) as unknown as Kernel
    const options = { kernel, projection: projectMcp(kernel), version: '0', peerOf: () => null }
    const server = createMcpServer(options as unknown as McpServerOptions)
    const handlers = (server as unknown as { _requestHandlers: Map<string, unknown> })._requestHandlers
    expect([...new Set([...handlers.keys(), 'server/discover', 'initialize', 'ping'])].toSorted()).toEqual(
      Object.keys(METHODS).toSorted(),
    )
  })

  test('an MCP method about a queue is open to its persona and to the operator', async () => {
    for (const holder of plainHolders()) {
      for (const [method, whose] of Object.entries(METHODS)) {
        if (whose !== 'own') continue
        for (const identity of ['ada', 'bob', 'operator', 'nobody']) {
          const code = await asked(holder, method, { uri: `turnbell://signals/${identity}/pending` })
          judge(`${holder.name}, ${method} ${identity}`, code, mayAsk(holder, method, identity))
        }
      }
    }
    expect(wrong.splice(0)).toEqual([])
  })

  test('an MCP method in the session of another caller is rejected', async () => {
    const begun = await hub.http('POST', '/mcp', { token: hub.token('bob'), body: INITIALIZE })
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    for (const holder of validHolders(hub)) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const body = method === 'POST' ? { body: { jsonrpc: '2.0', id: 1, method: 'ping' } } : {}
        const headers = { ...session, accept: 'application/json, text/event-stream' }
        const answer = await hub.http(method, '/mcp', { token: holder.token, headers, ...body })
        judge(`${holder.name}, ${method}`, String(answer.status), '404')
        await answer.body?.cancel()
      }
    }
    const own = await hub.http('DELETE', '/mcp', { token: hub.token('bob'), headers: session })
    judge('its owner, DELETE', String(own.status), '200')
    expect(wrong.splice(0)).toEqual([])
  })
})

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}

function mayAsk({ kind }: Holder, method: string, identity: string): string {
  if (kind !== 'operator' && identity !== 'ada') return 'identity_mismatch'
  // A daemon never receives the contents of signals; it may learn that signals wait.
  return kind === 'daemon' && method === 'resources/read' ? 'kind_forbidden' : 'reached'
}

async function asked({ token }: Holder, method: string, params: object): Promise<string> {
  const begun = await hub.http('POST', '/mcp', { token, body: INITIALIZE })
  const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const answer = await hub.http('POST', '/mcp', {
    token,
    headers,
    body: { jsonrpc: '2.0', id: 2, method, params },
  })
  const { error } = (await answer.json()) as { error?: { data?: { code?: string } } }
  return accessOf(error?.data?.code)
}
