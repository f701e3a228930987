/** Tests the event stream: pages, and server-sent events across a reconnect and with a client that does not read. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { HubEvent } from '../../../src/contracts/events.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { streamEvents } from '../../../src/transports/http/events.ts'
import { eventually } from '../../support/eventually.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub()
})
afterAll(() => hub.close())

const note = (type: string, agent_id: string | null, n = 0) =>
  hub.events.append({ type, agent_id, data: { n } })

interface Stream {
  events: HubEvent[]
  comments: number
  ended: boolean
  close(): void
}

async function listen(
  query: string,
  headers: Record<string, string> = {},
  token = hub.operator,
): Promise<Stream> {
  const stream: Stream = { events: [], comments: 0, ended: false, close: () => outgoing.destroy() }
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: hub.port,
    path: `/events${query}`,
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
  })
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject).end()
  })
  expect(incoming.headers['content-type']).toContain('text/event-stream')
  outgoing.on('error', () => {})
  incoming.on('error', () => {})
  let text = ''
  incoming.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const frame = Object.fromEntries(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      text = text.slice(end + 2)
      if (frame['data'] === undefined) {
        stream.comments++
        continue
      }
      const event = JSON.parse(frame['data']) as HubEvent
      expect(frame).toMatchObject({ id: String(event.seq), event: event.type })
      stream.events.push(event)
    }
  })
  incoming.on('end', () => (stream.ended = true))
  await eventually('the stream is open', () => stream.comments > 0)
  return stream
}

async function statusOfOneMore(): Promise<number | undefined> {
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: hub.port,
    path: '/events',
    headers: { authorization: `Bearer ${hub.operator}`, accept: 'text/event-stream' },
  })
  outgoing.on('error', () => {})
  const { statusCode } = await new Promise<IncomingMessage>((resolve) =>
    outgoing.once('response', resolve).end(),
  )
  outgoing.destroy()
  return statusCode
}

describe('a page', () => {
  test('a page continues where the last one ended', async () => {
    for (let n = 0; n < 5; n++) note('page.test', 'ada', n)
    const first = (await hub.request('GET', '/events?type=page.test&limit=3')).body
    expect((first['events'] as unknown as HubEvent[]).map(({ data }) => data['n'])).toEqual([0, 1, 2])
    const second = (
      await hub.request('GET', `/events?type=page.test&limit=3&since=${first['next'] as number}`)
    ).body
    expect((second['events'] as unknown as HubEvent[]).map(({ data }) => data['n'])).toEqual([3, 4])
  })

  test('a page is filtered by time, persona and family of types', async () => {
    note('family.one', 'ada')
    note('family.two', 'bob')
    const types = async (query: string) =>
      ((await hub.request('GET', `/events${query}`)).body['events'] as unknown as HubEvent[]).map(
        ({ type }) => type,
      )
    expect(await types('?type=family.')).toEqual(['family.one', 'family.two'])
    expect(await types('?type=family.&agent_id=bob')).toEqual(['family.two'])
    expect(await types(`?type=family.&since=${new Date(0).toISOString()}`)).toHaveLength(2)
    expect(await types('?type=family.&since=2999-01-01T00:00:00.000Z')).toEqual([])
  })

  test('a page requested from beyond the end returns the position of the end', async () => {
    note('end.test', 'ada')
    const { next } = (await hub.request('GET', '/events?type=end.&since=0')).body
    const beyond = (await hub.request('GET', '/events?type=end.&since=999999999')).body
    expect(beyond).toEqual({ events: [], next })
    note('end.test', 'bob')
    expect(
      (await hub.request('GET', `/events?type=end.&since=${beyond['next'] as number}`)).body,
    ).toMatchObject({ events: [{ agent_id: 'bob' }] })
  })

  test('a page rejects a token in its address, and does not repeat it', async () => {
    const { body } = await hub.request('GET', '/events?token=x')
    expect(body['code']).toBe('request_invalid')
    expect(JSON.stringify(body['detail']).split('allowed:')[1]).not.toContain('token')
    expect(body['hint']).toBe('Check the query against /openapi.json.')
  })

  test.each(['?since=yesterday', '?limit=0', '?limit=100000', '?limit=x', '?wrong=1', '?since=-5'])(
    'a page rejects %s',
    async (query) => {
      expect((await hub.request('GET', `/events${query}`)).body['code']).toBe('request_invalid')
    },
  )

  test('a page contains each call as dispatch and result, or as error', async () => {
    const since = (await hub.request('GET', '/events?limit=1000')).body['next'] as number
    const headers = { 'x-agent-id': 'main', 'x-run-id': 'r1' }
    await hub.request('POST', '/call', { body: { tool: 'personas', action: 'list' }, headers })
    await hub.request('POST', '/call', { body: { tool: 'personas', action: 'get' }, headers })
    const { events } = (await hub.request('GET', `/events?since=${since}`)).body as unknown as {
      events: HubEvent[]
    }
    const about = { facade: 'personas', agent_id: 'main', run_id: 'r1' }
    expect(events.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'dispatch', data: { ...about, action: 'list', timestamp: expect.any(String) as string } },
      {
        type: 'result',
        data: { ...about, action: 'list', success: true, duration_ms: expect.any(Number) as number },
      },
      { type: 'dispatch', data: { ...about, action: 'get', timestamp: expect.any(String) as string } },
      { type: 'error', data: { ...about, action: 'get', error: 'params_invalid' } },
      {
        type: 'result',
        data: { ...about, action: 'get', success: false, duration_ms: expect.any(Number) as number },
      },
    ])
  })
})

describe('a stream', () => {
  test('a stream begins with the next event', async () => {
    note('live.test', 'ada', 1)
    const stream = await listen('?type=live.test')
    note('live.test', 'ada', 2)
    note('other', 'ada')
    note('live.test', 'bob', 3)
    await eventually('both arrive', () => stream.events.length === 2)
    expect(stream.events.map(({ data }) => data['n'])).toEqual([2, 3])
    stream.close()
  })

  test('a stream resumes after the last event that its reader has seen', async () => {
    const { seq } = note('resume.test', 'ada', 1)
    note('resume.test', 'ada', 2)
    const stream = await listen('?type=resume.test&since=0', { 'last-event-id': String(seq) })
    note('resume.test', 'ada', 3)
    await eventually('what was missed and what is new', () => stream.events.length === 2)
    expect(stream.events.map(({ data }) => data['n'])).toEqual([2, 3])
    stream.close()
  })

  test('a stream catches up over many pages without a gap', async () => {
    for (let n = 0; n < 350; n++) note('many.test', null, n)
    const stream = await listen('?type=many.test&since=0')
    for (let n = 350; n < 400; n++) note('many.test', null, n)
    await eventually('all arrive', () => stream.events.length === 400)
    expect(stream.events.map(({ data }) => data['n'])).toEqual(Array.from({ length: 400 }, (_, n) => n))
    stream.close()
  })

  test('a stream beyond the limit is rejected', async () => {
    const streams = await Promise.all(
      Array.from({ length: LIMITS.event_streams_max }, () => listen('?type=none')),
    )
    const refused = await hub.request('GET', '/events', { headers: { accept: 'text/event-stream' } })
    expect([refused.status, refused.body['code']]).toEqual([429, 'limit_reached'])
    for (const stream of streams) stream.close()
    await eventually('there is room again', async () => {
      const stream = await listen('?type=none')
      stream.close()
      return true
    })
  })

  test('a stream that waits behind another on its connection frees its place when that connection ends', async () => {
    const ask = `GET /events HTTP/1.1\r\nhost: 127.0.0.1:${hub.port}\r\nauthorization: Bearer ${hub.operator}\r\naccept: text/event-stream\r\n\r\n`
    const count = LIMITS.event_streams_max / LIMITS.connection_requests_max
    const clients = Array.from({ length: count }, () => connect(hub.port, '127.0.0.1'))
    for (const client of clients) client.write(ask.repeat(LIMITS.connection_requests_max))
    await eventually('all are taken', async () => (await statusOfOneMore()) === 429)
    for (const client of clients) client.destroy()
    await eventually('there is room again', async () => (await statusOfOneMore()) === 200)
    // More streams than first requests on a connection.
    const streams = await Promise.all(clients.flatMap(() => [listen('?type=none'), listen('?type=none')]))
    for (const stream of streams) stream.close()
  })

  test('a stream ends when the hub stops', async () => {
    const other = await startSmallHub()
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port: other.port,
      path: '/events',
      headers: { authorization: `Bearer ${other.operator}`, accept: 'text/event-stream' },
    })
    const incoming = await new Promise<IncomingMessage>((resolve) => outgoing.once('response', resolve).end())
    const ended = new Promise((resolve) => incoming.once('end', resolve).resume())
    await other.close()
    await ended
  })
})

describe('events visible to a caller', () => {
  const page = async (query: string, token: string) =>
    (await hub.request('GET', `/events${query}`, { token })).body as unknown as {
      events: HubEvent[]
      next: number
    }
  const kinds = ['agent', 'daemon'] as const

  test.each(kinds)(
    "events visible to a persona's %s are its own, and other personas joining and leaving",
    async (kind) => {
      const { seq } = note('before', null)
      const ann = hub.token('ann', kind)
      await hub.request('POST', '/call', { body: { tool: 'personas', action: 'list' } })
      await hub.request('POST', '/call', { body: { tool: 'personas', action: 'list' }, token: ann })
      note('signal.pushed', 'bob')
      note('signal.pushed', 'ann')
      note('persona.active', 'bob')
      note('peer.joined', 'bob')
      note('hub.started', null)
      const { events } = await page(`?since=${seq}`, ann)
      expect(events.map(({ type, agent_id }) => [type, agent_id])).toEqual([
        ['dispatch', 'ann'],
        ['result', 'ann'],
        ['signal.pushed', 'ann'],
        ['persona.active', 'bob'],
        ['peer.joined', 'bob'],
        ['hub.started', null],
      ])
      expect((await page(`?since=${seq}&agent_id=bob&type=signal.`, ann)).events).toEqual([])
    },
  )

  test('an observer sees all events', async () => {
    const { seq } = note('signal.pushed', 'bob')
    const { events } = await page(`?since=${seq - 1}`, hub.token('ann', 'observer'))
    expect(events).toHaveLength(1)
  })

  test('a page is filled with visible events, and the cursor skips hidden ones', async () => {
    const { seq } = note('start', null)
    const hide = () => {
      for (let n = 0; n < LIMITS.events_page_max + 1; n++) note('gap.test', 'bob', n)
    }
    for (let n = 0; n < 3; n++) {
      hide()
      note('gap.test', 'ann', n)
    }
    hide()
    const ann = hub.token('ann')
    const first = await page(`?type=gap.&since=${seq}&limit=2`, ann)
    expect(first.events.map(({ data }) => data['n'])).toEqual([0, 1])
    const second = await page(`?type=gap.&since=${first.next}&limit=2`, ann)
    expect(second.events.map(({ data }) => data['n'])).toEqual([2])
    const last = hub.events.append({ type: 'end', agent_id: null, data: {} }).seq
    expect(second.next).toBe(last - 1)
  })

  test.each(kinds)("events visible on the stream to a persona's %s are the same", async (kind) => {
    const { seq } = note('start', null)
    for (let n = 0; n < 150; n++) note('signal.pushed', 'bob', n)
    note('signal.pushed', 'ann', 1)
    const stream = await listen(`?type=signal.&since=${seq}`, {}, hub.token('ann', kind))
    note('signal.pushed', 'bob')
    note('signal.pushed', 'ann', 2)
    await eventually('both arrive', () => stream.events.length >= 2)
    expect(stream.events.map(({ agent_id, data }) => [agent_id, data['n']])).toEqual([
      ['ann', 1],
      ['ann', 2],
    ])
    stream.close()
  })
})

/** A response whose socket accepts no data until the test permits it. */
class Stalling extends EventEmitter {
  socket = new EventEmitter()
  req = { socket: this.socket }
  written: string[] = []
  full = false
  destroyed = false
  writeHead = () => this
  write(text: string): boolean {
    this.written.push(text)
    return !this.full
  }
  end(): void {
    this.emit('close')
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

const OPERATOR: Caller = { tenant_id: 'local', kind: 'operator', identity: 'operator' }

describe('a stalled reader', () => {
  const begin = () => {
    let now = 0
    const beats: (() => void)[] = []
    const clock: Clock = {
      now: () => now,
      monotonic: () => now,
      after: () => ({ cancel: () => {} }),
      every: (_, call) => (beats.push(call), { cancel: () => beats.splice(0) }),
      soon: (call) => call(),
    }
    const events = createMemoryEventLog(clock)
    const response = new Stalling()
    streamEvents(response as unknown as ServerResponse, OPERATOR, {}, 0, { events, clock, log: silentLog })
    const pass = (ms: number) => {
      now += ms
      for (const beat of [...beats]) beat()
    }
    const append = (n: number) => events.append({ type: 'x', agent_id: null, data: { n } })
    const seen = () => response.written.filter((text) => text.startsWith('id:')).length
    return { response, append, seen, pass, beats }
  }

  test('a stalled reader uses no memory, and misses nothing when it continues', () => {
    const { response, append, seen } = begin()
    response.full = true
    append(1)
    for (let n = 2; n <= 500; n++) append(n)
    expect(seen()).toBe(1)
    response.full = false
    response.emit('drain')
    expect(seen()).toBe(500)
  })

  test('a reader that stalls for too long is disconnected', () => {
    const { response, append, pass, beats } = begin()
    response.full = true
    append(1)
    pass(LIMITS.sse_silence_max_ms)
    expect(response.destroyed).toBe(false)
    pass(1)
    expect(response.destroyed).toBe(true)
    expect(beats).toEqual([])
  })

  test('a reader receives heartbeats while there are no events', () => {
    const { response, pass } = begin()
    const before = response.written.length
    pass(LIMITS.sse_heartbeat_ms)
    expect(response.written.slice(before)).toEqual([': \n\n'])
  })
})
