import net from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { CLOSE } from '../../../../src/contracts/frames.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { eventually } from '../../../support/eventually.ts'
import { liveHub, OPERATOR_TOKEN, type Client, type LiveHub } from '../../../support/worlds/live-hub.ts'

let hub: LiveHub
afterEach(() => hub.close())

const hello = (identity: string, kind: string, more: object = {}) => ({
  ...{ type: 'hello', protocol: 1, kind, identity },
  ...more,
})

async function refused(client: Client): Promise<[string, number]> {
  const { code } = await client.next('error')
  return [code, await client.closed]
}

describe('a hello', () => {
  test('a hello that matches its token is welcomed', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob', 'daemon') })
    client.send(hello('bob', 'daemon', { surface: 'command', session_id: 'd-1' }))
    expect(await client.next('welcome')).toMatchObject({
      heartbeat_interval_ms: LIMITS.heartbeat_interval_ms,
      client_id: expect.stringMatching(/^[0-9A-Z]{26}$/) as string,
    })
  })

  test('a hello may contain its token in the address or in the frame', async () => {
    hub = await liveHub()
    const inQuery = await hub.dial({ query: `?token=${hub.token('bob', 'agent')}` })
    inQuery.send(hello('bob', 'agent'))
    await inQuery.next('welcome')
    const inFrame = await hub.dial()
    inFrame.send(hello('alice', 'agent', { token: hub.token('alice', 'agent') }))
    await inFrame.next('welcome')
  })

  test.each([
    ['without a token', null, hello('bob', 'agent'), 'token_missing'],
    ['with an invalid token', 'abc', hello('bob', 'agent'), 'token_invalid'],
    ['for another persona', 'agent', hello('alice', 'agent'), 'identity_mismatch'],
    ['for another kind', 'agent', hello('bob', 'daemon'), 'kind_forbidden'],
    ['of an observer as an agent', 'observer', hello('bob', 'agent'), 'kind_forbidden'],
    ['under a reserved name', 'agent', hello('operator', 'agent'), 'identity_mismatch'],
  ] as const)('a hello %s is rejected and closed with 4401', async (_, token, frame, code) => {
    hub = await liveHub()
    const real = token === 'agent' || token === 'observer'
    const client = await hub.dial({ token: real ? hub.token('bob', token) : token })
    client.send(frame)
    expect(await refused(client)).toEqual([code, CLOSE.unauthorised])
    expect(hub.hub.api.health().connected).toEqual({ agent: 0, daemon: 0, observer: 0 })
  })

  test('a hello with an expired token is rejected', async () => {
    hub = await liveHub()
    const token = hub.token('bob', 'agent')
    await hub.clock.advance(3_600_000)
    const client = await hub.dial({ token })
    client.send(hello('bob', 'agent'))
    expect(await refused(client)).toEqual(['token_expired', CLOSE.unauthorised])
  })

  test('a hello for another session than that of its token is rejected', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob', 'agent', 'run-1') })
    client.send(hello('bob', 'agent', { session_id: 'run-2' }))
    expect(await refused(client)).toEqual(['identity_mismatch', CLOSE.unauthorised])
  })

  test('a link without a hello within five seconds is closed with 4401', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob', 'agent') })
    await hub.clock.advance(LIMITS.hello_timeout_ms)
    expect(await client.closed).toBe(CLOSE.unauthorised)
  })

  test('a hello must be first: any other frame closes the link with 4401', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob', 'agent') })
    client.send({ type: 'pending.peek', id: 1 })
    expect(await refused(client)).toEqual(['frame_invalid', CLOSE.unauthorised])
  })

  test('a hello of another protocol version is a malformed frame', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob', 'agent') })
    client.send({ ...hello('bob', 'agent'), protocol: 2 })
    expect(await client.next('error')).toMatchObject({ code: 'frame_invalid' })
  })

  test('a second hello is answered with an error and changes nothing', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    client.send(hello('bob', 'agent'))
    expect(await client.next('error')).toMatchObject({ code: 'frame_invalid' })
    await client.settled()
  })

  test('frames between the hello and the welcome are handled after the welcome', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob', 'daemon') })
    client.send(hello('bob', 'daemon'))
    client.send({ type: 'pending.peek', id: 7 })
    expect(await client.next('pending')).toMatchObject({ id: 7, total: 0 })
    expect(client.frames[0]?.type).toBe('welcome')
  })

  test('a hello of a wrapped persona is rejected with the command to restore it', async () => {
    hub = await liveHub()
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    await hub.call('personas', 'wrap', { identity: 'bob' })
    const client = await hub.dial({ token: hub.token('bob', 'daemon') })
    client.send(hello('bob', 'daemon'))
    expect(await client.next('error')).toMatchObject({ code: 'persona_wrapped' })
    expect(await client.closed).toBe(CLOSE.stale)
  })

  test('a hello creates a persona that does not exist', async () => {
    hub = await liveHub()
    await hub.join('newcomer', 'daemon', { surface: 'claude-code' })
    expect(await hub.call('personas', 'get', { identity: 'newcomer' })).toMatchObject({
      surface: 'claude-code',
      state: 'active',
    })
  })

  test('a hello subscribes to its channels, and the welcome lists the rejected ones', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent', { channels: ['agents/alice', 'topics/ci'] })
    expect(await client.next('error')).toMatchObject({ code: 'kind_forbidden' })
    await client.ask({ type: 'publish', channel: 'topics/ci', event: 'build.done', data: 1 })
    expect(await client.next('event')).toMatchObject({ channel: 'topics/ci', data: 1 })
  })
})

describe("the operator's token", () => {
  test("the operator's token may join as any persona and kind", async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: OPERATOR_TOKEN })
    client.send(hello('bob', 'agent', { session_id: 'run-1' }))
    await client.next('welcome')
    const sent = await client.ask({
      type: 'call',
      facade: 'signals',
      action: 'send',
      params: { to: 'bob', intent: 'note' },
    })
    expect(sent).toMatchObject({ type: 'result', result: { durable: true } })
    const { signals } = await hub.call<{ signals: object[] }>('signals', 'inbox', {})
    expect(signals).toMatchObject([{ from: 'bob', origin: 'agent' }])
  })

  test("the operator's token joins as the operator itself, as an observer, with the operator's permissions", async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: OPERATOR_TOKEN })
    client.send(hello('operator', 'observer'))
    await client.next('welcome')
    const added = await client.ask({
      ...{ type: 'call', facade: 'personas', action: 'add' },
      params: { identity: 'carol', surface: 'mcp' },
    })
    expect(added).toMatchObject({ type: 'result', result: { identity: 'carol' } })
    expect(hub.hub.api.health().connected).toEqual({ agent: 0, daemon: 0, observer: 1 })
  })
})

describe('the upgrade', () => {
  test.each([
    ['another path', '/other', {}, 404],
    ['another host', '/ws', { host: 'evil.example:80' }, 403],
    ['a page of another origin', '/ws', { origin: 'https://evil.example' }, 403],
    ['a header without a bearer token', '/ws', { authorization: 'Basic abc' }, 401],
    ['bounds in the query', '/ws?read_only=1', {}, 400],
    ['misspelt bounds in the query', '/ws?facades[]=git', {}, 400],
    ['bounds in headers', '/ws', { 'x-read-only': '1' }, 400],
    ['misspelt bounds in headers', '/ws', { 'X-Facade': 'git' }, 400],
  ])('an upgrade for %s is rejected', async (_, path, headers, status) => {
    hub = await liveHub()
    const { default: WebSocket } = await import('ws')
    const socket = new WebSocket(`${hub.url.replace(/^http/, 'ws')}${path}`, { headers })
    const answered = await new Promise<number>((resolve, reject) => {
      socket.on('unexpected-response', (__, response) => {
        resolve(response.statusCode ?? 0)
        response.destroy()
      })
      socket.on('open', () => reject(new Error('it was upgraded')))
      socket.on('error', () => undefined)
    })
    expect(answered).toBe(status)
  })

  test('a rejected upgrade keeps no socket, even if the client never closes its side', async () => {
    hub = await liveHub()
    const { host, port } = new URL(hub.url)
    const socket = net.connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
    const gone = new Promise<unknown>((resolve) => socket.once('error', resolve))
    let told = ''
    socket.on('data', (text: Buffer) => (told += text.toString()))
    socket.write(`GET /other HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`)
    await eventually('the hub takes nothing more', () => {
      if (told !== '') socket.write('x')
      return socket.errored !== null
    })
    await gone
    expect(told).toContain('HTTP/1.1 404 ')
    expect(told).toContain('Remove the `Upgrade` header')
  })

  test('an upgrade from a page of the hub itself is accepted', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob'), headers: { origin: hub.url } })
    client.send(hello('bob', 'agent'))
    await client.next('welcome')
  })
})
