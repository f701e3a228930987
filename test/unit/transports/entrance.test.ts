/** Tests the limits of one agent at the HTTP port: unread responses, streams, renewals, connections. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
let sockets: Socket[]
beforeEach(async () => {
  hub = await startSmallHub()
  sockets = []
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await hub.close()
})

/** A connection that reads only on request. */
async function deafConnection(): Promise<Socket> {
  const socket = connect(hub.port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined)
  socket.pause()
  await once(socket, 'connect')
  return socket
}

const head = (line: string, token: string, more = '') =>
  `${line} HTTP/1.1\r\nhost: 127.0.0.1:${hub.port}\r\nauthorization: Bearer ${token}\r\n${more}\r\n`

const streamOf = (token: string) => head('GET /events', token, 'accept: text/event-stream\r\n')

const calls = (identity: string) => hub.lines.filter((line) => line.identity === identity).length

describe('a connection', () => {
  test('a connection has a limited number of running requests; the next waits, and other connections do not', async () => {
    const socket = await deafConnection()
    const token = hub.token('eve')
    const inbox = head('GET /api/signals/inbox', token)
    socket.write(streamOf(token).repeat(LIMITS.connection_requests_max) + inbox)
    const elsewhere = await hub.request('GET', '/api/signals/inbox', { token })
    expect([elsewhere.status, calls('eve')]).toEqual([200, 1])
  })

  test('a connection that pipelines too many requests is closed, and others are answered', async () => {
    const socket = await deafConnection()
    const closed = once(socket, 'close')
    socket.resume()
    socket.write(streamOf(hub.token('mallory')).repeat(LIMITS.connection_ahead_max + 1))
    await closed
    expect((await hub.request('GET', '/api/personas/list')).status).toBe(200)
  })

  test('a connection without a token is closed in favour of others, and an authenticated one is not', async () => {
    const used = await deafConnection()
    used.write(streamOf(hub.token('ada')))
    await once(used.resume(), 'data')
    const [first] = await Promise.all(Array.from({ length: LIMITS.unknown_connections_max }, deafConnection))
    const closed = once(first as Socket, 'close')
    first?.resume()
    const { status } = await hub.request('GET', '/health', { token: null })
    await closed
    expect([status, used.destroyed]).toEqual([200, false])
  })
})

describe('one agent', () => {
  test('one agent has its share of event streams, separate from other agents, the operator and daemons', async () => {
    const socket = await deafConnection()
    socket.resume()
    socket.write(streamOf(hub.token('mallory')).repeat(LIMITS.caller_event_streams_max))
    const status = async (token: string) => {
      const abort = new AbortController()
      const response = await fetch(`${hub.url}/events`, {
        headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
        signal: abort.signal,
      })
      abort.abort()
      return response.status
    }
    await eventually('its share is taken', async () => (await status(hub.token('mallory'))) === 429)
    for (const token of [hub.token('ada'), hub.operator, hub.token('mallory', 'daemon')])
      expect(await status(token)).toBe(200)
  })

  test('one agent renews its token a limited number of times a minute, independent of others', async () => {
    const renew = (identity: string, token: string) =>
      hub.request('POST', '/auth/token', { token, body: { identity, kind: 'agent' } })
    const statuses = []
    for (let n = 0; n <= LIMITS.caller_renewals_per_minute_max; n++)
      statuses.push((await renew('mallory', hub.token('mallory'))).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(LIMITS.caller_renewals_per_minute_max)
    const refused = await renew('mallory', hub.token('mallory'))
    expect(refused.body).toMatchObject({ code: 'rate_limited', retry: 'after_delay' })
    expect((await renew('ada', hub.token('ada'))).status).toBe(200)
    expect((await renew('mallory', hub.operator)).status).toBe(200)
  })

  test('one agent has one large body read at a time, independent of others', async () => {
    const slow = await deafConnection()
    const length = `content-type: application/json\r\ncontent-length: ${LIMITS.body_bytes_max}\r\n`
    slow.write(head('POST /call', hub.token('mallory'), length))
    const second = await deafConnection()
    second.write(head('POST /call', hub.token('mallory'), length))
    const call = { tool: 'signals', action: 'inbox' }
    const asAda = await hub.request('POST', '/call', { token: hub.token('ada'), body: call })
    expect(asAda.status).toBe(200)
    const third = hub.request('POST', '/call', { token: hub.token('mallory'), body: call })
    slow.destroy()
    second.destroy()
    expect((await third).status).toBe(200)
  })
})

describe('a body', () => {
  const many = `[${'{},'.repeat(LIMITS.wire_values_max)}{}]`

  test.each([
    ['/call', `{"tool":"signals","action":"ack","params":{"signal_ids":${many}}}`, 'params_invalid'],
    ['/batch', `{"calls":${many}}`, 'params_invalid'],
    [
      '/call',
      JSON.stringify({ tool: 'signals', action: 'ack', params: { signal_ids: many } }),
      'params_invalid',
    ],
  ])('a body to %s with too many values is rejected', async (path, body, code) => {
    const answer = await hub.request('POST', path, { body, token: hub.token('ada') })
    expect([answer.status, answer.body['code']]).toEqual([400, code])
  })

  test('a body of MCP with too many values is rejected', async () => {
    const answer = await hub.request('POST', '/mcp', { body: many, token: hub.token('ada') })
    expect([answer.status, answer.body['error']]).toMatchObject([400, { code: -32_600 }])
  })
})

describe('one request', () => {
  const nested = (depth: number, call: object): object =>
    depth === 0
      ? call
      : {
          facade: 'workflow',
          action: 'batch',
          params: { calls: Array.from({ length: 60 }, () => nested(depth - 1, call)) },
        }
  const inbox = { facade: 'signals', action: 'inbox', params: { limit: 1_000 } }
  const fill = async () => {
    await hub.personas.add({ identity: 'ada', surface: 'mcp' })
    for (let n = 0; n < 40; n++)
      await hub.request('POST', '/api/signals/send', {
        body: { to: 'ada', intent: 'fill', payload: 'x'.repeat(4_000) },
      })
  }

  test('a request by POST /batch has a limited response size, however its calls are nested', async () => {
    await fill()
    const body = { calls: Array.from({ length: 2 }, () => nested(1, inbox)) }
    const answer = await hub.request('POST', '/batch', { token: hub.token('ada'), body })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('"limit_reached"')
    const most = LIMITS.request_answer_bytes_max + (LIMITS.reads_running_max + 1) * LIMITS.inbox_bytes_max
    expect(answer.text.length).toBeLessThan(most)
  })

  test('a batch of MCP shares its limit among its messages', async () => {
    await fill()
    const message = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: {
        name: 'tool_invoke',
        arguments: { name: 'workflow_batch', args: { calls: Array.from({ length: 20 }, () => inbox) } },
      },
    })
    const answer = await hub.request('POST', '/mcp', {
      token: hub.token('ada'),
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-03-26' },
      body: Array.from({ length: 6 }, (_, id) => message(id)),
    })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('limit_reached')
    // MCP responses contain everything twice, once as text.
    const most = LIMITS.request_answer_bytes_max + (LIMITS.reads_running_max + 1) * LIMITS.inbox_bytes_max
    expect(answer.text.length).toBeLessThan(2.5 * most)
  })

  test('a request makes a limited number of calls, however they are nested', async () => {
    const body = {
      calls: Array.from({ length: 60 }, () => nested(1, { facade: 'personas', action: 'list' })),
    }
    const answer = await hub.request('POST', '/batch', { token: hub.token('ada'), body })
    const done = hub.lines.filter(({ action, success }) => action === 'list' && success)
    expect([answer.status, done.length <= LIMITS.request_calls_max]).toEqual([200, true])
    expect(answer.text).toContain('limit_reached')
  })
})
