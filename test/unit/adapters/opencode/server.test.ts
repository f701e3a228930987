import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { UserRequest, Event } from '../../../../adapters/opencode/protocol.ts'
import { connectOpencode, OpencodeError, OpencodeVersionError } from '../../../../adapters/opencode/server.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

const servers: http.Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const ANSWERS: Record<string, unknown> = {
  'GET /permission?directory=%2Fa%20b': [{ id: 'per_1', sessionID: 'ses_1' }],
  'GET /question?directory=%2Fa%20b': [{ id: 'que_1', sessionID: 'ses_1' }],
  'GET /session/ses_nameless?directory=%2Fa%20b': { id: '', directory: '/a b', time: { created: 1 } },
  'GET /session/ses_long?directory=%2Fa%20b': {
    ...{ id: 'x'.repeat(LIMITS.session_id_length_max + 1), directory: '/a b', time: { created: 1 } },
  },
  'GET /permission?directory=%2F%EF%BF%BD': [],
  'GET /question?directory=%2F%EF%BF%BD': [],
  'POST /session?directory=%2Fa%20b': { id: 'ses_new', directory: '/a b', time: { created: 1 } },
  'GET /session/ses_1/message?directory=%2Fa%20b&limit=1': [
    { info: { id: 'msg_2', role: 'user', time: { created: 2 } }, parts: [] },
  ],
  'GET /session/ses_2/message?directory=%2Fa%20b&limit=1': [],
  'POST /permission/per_1/reply?directory=%2Fa%20b': true,
  'POST /question/que_1/reject?directory=%2Fa%20b': true,
}

/** The fake server's answers by route, and the requests it received. */
async function served(version: string | null = '1.18.33', streams = true) {
  const clock = fakeClock()
  const asked: { route: string; authorization: string | undefined; body: string }[] = []
  let stream: http.ServerResponse | null = null
  const server = http.createServer((request, response) => {
    const route = `${request.method} ${request.url}`
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      asked.push({ route, authorization: request.headers.authorization, body })
      if (route === 'GET /global/health' && version !== null)
        return void response.end(JSON.stringify({ version }))
      if (route === 'GET /global/event') {
        if (!streams) return
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
        return void response.write('data: {"payload":{"type":"server.connected","properties":{}}}\n\n')
      }
      if (route.startsWith('GET /session/status'))
        return void response.end('{"ses_1":{"type":"busy"},"ses_2":{"type":"retry","attempt":1}}')
      if (route.startsWith('GET /session/ses_1?'))
        return void response.end('{"id":"ses_1","directory":"/a b","agent":"plan","time":{"created":1}}')
      const given = ANSWERS[route]
      if (given !== undefined) return void response.end(JSON.stringify(given))
      response.writeHead(route.includes('/prompt_async') && !route.includes('ses_0') ? 204 : 404).end()
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const events: Event[] = []
  const asks: UserRequest[] = []
  let closed = 0
  const connect = () =>
    connectOpencode(
      { url: `http://127.0.0.1:${port}`, authorization: 'Basic x' },
      { clock, log: silentLog },
      {
        onEvent: (event) => void events.push(event),
        onRequest: (one) => void asks.push(one),
        onClose: () => void (closed += 1),
      },
    )
  return {
    clock,
    asked,
    events,
    asks,
    connect,
    closed: () => closed,
    write: (text: string | Buffer) => void stream?.write(text),
    server,
  }
}

const at = (id: string) => ({ id, directory: '/a b' })

test('a session is requested in its own directory, with the password', async () => {
  const place = await served()
  const link = await place.connect()
  expect(await link.session(at('ses_1'))).toMatchObject({ agent: 'plan' })
  expect(await link.session(at('ses_9'))).toBeNull()
  expect((await link.messages(at('ses_1'), 1)).at(-1)?.info).toMatchObject({
    id: 'msg_2',
    time: { created: 2 },
  })
  expect(await link.messages(at('ses_2'), 1)).toEqual([])
  expect(await Promise.all(['ses_1', 'ses_2', 'ses_3'].map((id) => link.isBusy(at(id))))).toEqual([
    true,
    true,
    false,
  ])
  await link.prompt(at('ses_1'), { parts: [{ type: 'text', text: 'ring', metadata: {} }] })
  const last = place.asked.at(-1)
  expect(last?.route).toBe('POST /session/ses_1/prompt_async?directory=%2Fa%20b')
  expect(JSON.parse(last?.body ?? '')).toEqual({ parts: [{ type: 'text', text: 'ring', metadata: {} }] })
  expect(new Set(place.asked.map(({ authorization }) => authorization))).toEqual(new Set(['Basic x']))
  await link.removeMessage?.(at('ses_1'), 'msg_2')
  expect(place.asked.at(-1)?.route).toBe('DELETE /session/ses_1/message/msg_2?directory=%2Fa%20b')
  await expect(
    link.prompt(at('ses_0'), { parts: [{ type: 'text', text: 'ring', metadata: {} }] }),
  ).rejects.toMatchObject({ status: 404 })
  link.close()
})

test.each(['ses_nameless', 'ses_long'])('an invalid id, as of %s, is an error', async (id) => {
  const place = await served()
  const link = await place.connect()
  await expect(link.session(at(id))).rejects.toThrow(OpencodeError)
  await expect(link.session(at(id))).rejects.toThrow('unknown format')
  link.close()
})

// A server may write a lone surrogate into its JSON; a URL cannot contain one.
test('a lone surrogate in an id is sent as the replacement character', async () => {
  const place = await served()
  const link = await place.connect()
  const half = { id: 'ses_1\ud800', directory: '/\ud800' }
  expect(await link.session(half)).toBeNull()
  expect(await link.isBusy(half)).toBe(false)
  expect(await link.openRequests(half.directory)).toEqual([])
  await expect(link.messages(half, 1)).rejects.toMatchObject({ status: 404 })
  await link.prompt(half, { parts: [{ type: 'text', text: 'ring', metadata: {} }] })
  expect(place.asked.at(-1)?.route).toBe('POST /session/ses_1%EF%BF%BD/prompt_async?directory=%2F%EF%BF%BD')
  await expect(link.replyPermission(half, { reply: 'once' })).rejects.toMatchObject({ status: 404 })
  await expect(link.rejectQuestion(half)).rejects.toMatchObject({ status: 404 })
  link.close()
})

test('known events are passed on in any chunking, and the end is reported', async () => {
  const place = await served()
  const link = await place.connect()
  const idle = { type: 'session.idle', properties: { sessionID: 'ses_1' } }
  const line = `data: ${JSON.stringify({ directory: '/', payload: idle })}\n\n`
  place.write('data: no JSON\n\ndata: {"payload":{"type":"lsp.updated","properties":{}}}\n\n')
  place.write(line.slice(0, 20))
  place.write(`${line.slice(20)}: a comment\n\n${line}`)
  await eventually('both are told', () => place.events.length === 2)
  expect(place.events).toEqual([idle, idle])
  expect(link.isGone()).toBe(false)
  place.server.closeAllConnections()
  await eventually('the end is told', () => place.closed() === 1)
  expect(link.isGone()).toBe(true)
})

test('an event in many chunks is passed on, with those before and after it', async () => {
  const place = await served()
  const link = await place.connect()
  const event = (sessionID: string) => ({ type: 'session.idle', properties: { sessionID } })
  const line = (id: string) => `data: ${JSON.stringify({ payload: event(id) })}\n`
  const long = 'ü'.repeat(1_000)
  const all = Buffer.from(`${line('ses_1')}\n${line(long)}${line('ses_2')}`)
  for (let at = 0; at < all.length; at += 101) place.write(all.subarray(at, at + 101))
  await eventually('all are told', () => place.events.length === 3)
  expect(place.events).toEqual(['ses_1', long, 'ses_2'].map(event))
  link.close()
})

test('requests to a person are passed on and can be answered', async () => {
  const place = await served()
  const link = await place.connect()
  const asked = { type: 'permission.asked', properties: { id: 'per_1', sessionID: 'ses_1' } }
  place.write(`data: ${JSON.stringify({ payload: asked })}\n\n`)
  await eventually('it is told', () => place.asks.length === 1)
  expect(place.asks).toEqual([asked])
  expect(await link.openRequests('/a b')).toEqual([
    asked,
    { type: 'question.asked', properties: { id: 'que_1', sessionID: 'ses_1' } },
  ])
  expect(await link.createSession('/a b')).toEqual({ id: 'ses_new', directory: '/a b' })
  await link.replyPermission(at('per_1'), { reply: 'once' })
  await link.rejectQuestion(at('que_1'))
  expect(place.asked.slice(-2)).toMatchObject([
    { route: 'POST /permission/per_1/reply?directory=%2Fa%20b', body: '{"reply":"once"}' },
    { route: 'POST /question/que_1/reject?directory=%2Fa%20b' },
  ])
  await expect(link.replyPermission(at('per_9'), { reply: 'once' })).rejects.toMatchObject({ status: 404 })
  link.close()
})

test.each(['2.0.0', '0.9.1', 'local'])(
  'a server of version %s is rejected with the reason',
  async (version) => {
    const place = await served(version)
    const refused = place.connect()
    await expect(refused).rejects.toThrow(OpencodeVersionError)
    await expect(refused).rejects.toThrow(`opencode ${version} has another API than 1.x`)
    expect(place.asked.map(({ route }) => route)).toEqual(['GET /global/health'])
  },
)

test('connecting fails if the event stream does not start', async () => {
  const place = await served('1.18.33', false)
  const refused = expect(place.connect()).rejects.toMatchObject({ status: null })
  await eventually('it is asked for', () => place.asked.at(-1)?.route === 'GET /global/event')
  await place.clock.advance(LIMITS.opencode_answer_ms)
  await refused
  expect(place.closed()).toBe(0)
})

test('connecting fails if no server listens', async () => {
  const place = await served()
  place.server.close()
  await expect(place.connect()).rejects.toMatchObject({ status: null })
})

test('a server without a version is rejected', async () => {
  const place = await served(null)
  await expect(place.connect()).rejects.toThrow(OpencodeVersionError)
})
