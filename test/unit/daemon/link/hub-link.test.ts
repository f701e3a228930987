import net, { type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toProblem, TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { HubFrame } from '../../../../src/contracts/frames.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { createHubLink } from '../../../../src/daemon/link/hub-link.ts'
import { createTokenSource } from '../../../../src/daemon/link/hub-token.ts'
import type { Clock } from '../../../../src/ports/clock.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeHub, type FakeHubOptions } from '../../../support/fakes/fake-hub.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

interface Options extends FakeHubOptions {
  clock?: Clock
  given?: string
  operatorToken?: () => string | null
  url?: () => string
}

async function linkToHub(options: Options = {}) {
  const hub = await fakeHub(options)
  onTestFinished(() => hub.close())
  const clock = options.clock ?? systemClock
  const url = options.url ?? (() => hub.url)
  const identity = 'ada'
  const session_id = '01J00000000000000000000000'
  const tokens = createTokenSource({
    url,
    identity,
    session_id,
    operatorToken: options.operatorToken ?? (() => 'operator-token'),
    given: options.given,
    clock,
  })
  const link = createHubLink({ url, identity, surface: 'command', session_id, tokens, clock, log: silentLog })
  onTestFinished(() => link.close())
  const told = {
    ups: 0,
    frames: [] as HubFrame[],
    downs: [] as { error_class: string; detail: string; code: number | null }[],
  }
  const connect = () =>
    link.connect({
      onUp: () => (told.ups += 1),
      onFrame: (frame) => told.frames.push(frame),
      onDown: (error_class, detail, code) => told.downs.push({ error_class, detail, code }),
    })
  return { hub, link, told, connect, tokens }
}

describe('the link', () => {
  test('the link exchanges the operator token, connects with its own, and sends a daemon hello', async () => {
    const { hub, told, connect } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    expect(hub.tokenRequests).toEqual([
      {
        bearer: 'Bearer operator-token',
        body: { identity: 'ada', kind: 'daemon', session_id: '01J00000000000000000000000' },
      },
    ])
    expect(hub.bearers).toEqual(['Bearer token-1'])
    expect(hub.frames).toEqual([
      {
        type: 'hello',
        protocol: 1,
        kind: 'daemon',
        identity: 'ada',
        surface: 'command',
        session_id: '01J00000000000000000000000',
      },
    ])
  })

  test('the link forwards frames in order, and drops those for another persona', async () => {
    const { hub, told, connect } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    hub.push('ada')
    hub.push('bob')
    hub.push('ada')
    await eventually('both', () => told.frames.length === 2)
    expect(told.frames.map((frame) => frame.type === 'signal.pushed' && [frame.to, frame.seq])).toEqual([
      ['ada', 1],
      ['ada', 3],
    ])
  })

  test('the link survives invalid JSON, unknown types, missing fields, binary frames and a push with a payload', async () => {
    const { hub, told, connect } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    const entry = hub.accept()
    const body = JSON.stringify({
      type: 'signal.pushed',
      to: 'ada',
      pending_count: 1,
      ...entry,
      payload: 'never',
    })
    for (const text of [
      '{',
      '[]',
      'null',
      '{"type":"signal.stolen"}',
      '{"type":"signal.pushed"}',
      '"x"',
      body,
    ]) {
      hub.sendText(text)
    }
    hub.sendText(Buffer.from([0, 255, 1]))
    hub.push('ada')
    await eventually('the good one', () => told.frames.length === 1)
    expect(told.downs).toEqual([])
  })

  test('the link reads the address at each attempt, so that a hub that moved is found', async () => {
    let url = 'http://127.0.0.1:1'
    const { hub, told, connect } = await linkToHub({ url: () => url })
    connect()
    await eventually('the failure', () => told.downs.length === 1)
    expect(told.downs[0]).toMatchObject({ error_class: 'ws_connect_failed', code: null })
    url = hub.url
    connect()
    await eventually('the welcome', () => told.ups === 1)
  })

  test('the link ends once, as ws_stream_stalled, when the hub goes away', async () => {
    const { hub, told, connect, link } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    expect(link.send({ type: 'ping' })).toBe(true)
    hub.cutLinks()
    await eventually('the end', () => told.downs.length > 0)
    expect(told.downs).toMatchObject([{ error_class: 'ws_stream_stalled' }])
    expect(link.send({ type: 'ping' })).toBe(false)
  })

  test('the link reports the close code of a hub that gave the registration to another daemon', async () => {
    const { hub, told, connect } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    hub.closeLinks(4409, 'stale')
    await eventually('the end', () => told.downs.length === 1)
    expect(told.downs[0]).toMatchObject({ code: 4409 })
  })

  test('the link reports nothing when it is closed by its owner', async () => {
    const { hub, told, connect, link } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    link.close()
    await eventually('the hub has seen it', () => hub.links.length === 0)
    expect(told.downs).toEqual([])
    expect(link.send({ type: 'ping' })).toBe(false)
  })

  test('the link reports the reason of a refusal, not only a close code', async () => {
    const { hub, told, connect } = await linkToHub()
    hub.welcomes = false
    connect()
    await eventually('hello', () => hub.framesOf('hello').length === 1)
    const refusal = toProblem(new TurnbellError('persona_wrapped', { detail: 'ada is wrapped' }), 'x')
    hub.send({ ...refusal, type: 'error' })
    hub.closeLinks(4401, 'no')
    await eventually('the end', () => told.downs.length === 1)
    expect(told.frames).toMatchObject([{ type: 'error', code: 'persona_wrapped' }])
    expect(told.downs[0]).toMatchObject({ error_class: 'ws_connect_failed', code: 4401 })
    expect(told.downs[0]?.detail).toContain('ada is wrapped')
  })

  test('the link gives up a hub that sends no welcome', async () => {
    const clock = fakeClock()
    const { hub, told, connect } = await linkToHub({ clock })
    hub.welcomes = false
    connect()
    await eventually('hello', () => hub.framesOf('hello').length === 1)
    await clock.advance(LIMITS.hello_timeout_ms * 2)
    expect(told.downs).toMatchObject([{ error_class: 'ws_connect_failed' }])
  })

  test('the link gives up a silent hub as stalled, and counts a WebSocket ping as activity', async () => {
    const clock = fakeClock()
    const { hub, told, connect } = await linkToHub({ clock })
    connect()
    await eventually('the welcome', () => told.ups === 1)
    await clock.advance(LIMITS.link_silence_max_ms - 6_000)
    const pinged = new Promise((resolve) => hub.links[0]?.once('pong', resolve))
    hub.links[0]?.ping()
    await pinged
    await clock.advance(LIMITS.link_silence_max_ms - 6_000)
    expect(told.downs).toEqual([])
    await clock.advance(LIMITS.link_silence_max_ms)
    expect(told.downs).toMatchObject([{ error_class: 'ws_stream_stalled' }])
  })

  test('the link gives up a connection that did not survive the sleep of the machine', async () => {
    const clock = fakeClock()
    const { told, connect } = await linkToHub({ clock })
    connect()
    await eventually('the welcome', () => told.ups === 1)
    clock.setBack(-3_600_000)
    await clock.advance(LIMITS.link_silence_max_ms / 9)
    expect(told.downs).toMatchObject([{ error_class: 'ws_stream_stalled' }])
  })

  test('the link leaves no timer when it ends', async () => {
    const clock = fakeClock()
    const { hub, told, connect } = await linkToHub({ clock })
    connect()
    await eventually('the welcome', () => told.ups === 1)
    hub.cutLinks()
    await eventually('the end', () => told.downs.length === 1)
    expect(clock.armed()).toBe(0)
  })
})

describe('the token', () => {
  test('the token is renewed before it expires, while the link is open', async () => {
    const clock = fakeClock()
    const { hub, told, connect } = await linkToHub({ clock, expires_in: 100 })
    connect()
    await eventually('the welcome', () => told.ups === 1)
    await clock.advance(80_000 - LIMITS.link_silence_max_ms)
    hub.send({ type: 'pong' })
    await eventually('the pong', () => told.frames.length === 1)
    await clock.advance(LIMITS.link_silence_max_ms - 1_000)
    hub.send({ type: 'pong' })
    await eventually('the pong', () => told.frames.length === 2)
    await clock.advance(1_000)
    await eventually('the renewal', () => hub.tokenRequests.length === 2)
    expect(hub.tokenRequests[1]?.bearer).toBe('Bearer token-1')
  })

  test('the token is used again for the next link while most of its lifetime is left', async () => {
    const { hub, told, connect } = await linkToHub()
    connect()
    await eventually('the welcome', () => told.ups === 1)
    connect()
    await eventually('the second welcome', () => told.ups === 2)
    expect(hub.tokenRequests).toHaveLength(1)
    expect(hub.bearers).toEqual(['Bearer token-1', 'Bearer token-1'])
  })

  test('a token unknown to the hub is replaced with the operator token', async () => {
    const clock = fakeClock()
    const { hub, tokens } = await linkToHub({ clock, expires_in: 100 })
    await tokens.current()
    await clock.advance(90_000)
    const refusal = toProblem(new TurnbellError('token_invalid', { detail: 'another key' }), 'x')
    hub.tokenRefusal = { status: 401, body: refusal }
    await expect(tokens.current()).rejects.toMatchObject({ code: 'token_invalid' })
    expect(hub.tokenRequests.map(({ bearer }) => bearer)).toEqual([
      'Bearer operator-token',
      'Bearer token-1',
      'Bearer operator-token',
    ])
  })

  test('a token that the hub refuses at the link is not tried a second time', async () => {
    const { hub, told, connect } = await linkToHub()
    hub.upgradeRefusal = 401
    connect()
    await eventually('the refusal', () => told.downs.length === 1)
    expect(told.downs[0]).toMatchObject({ error_class: 'ws_connect_failed' })
    expect(told.downs[0]?.detail).toContain('401')
    hub.upgradeRefusal = null
    connect()
    await eventually('the welcome', () => told.ups === 1)
    expect(hub.bearers).toEqual(['Bearer token-2'])
    hub.closeLinks(4401, 'unauthorised')
    await eventually('the end', () => told.downs.length === 2)
    connect()
    await eventually('the welcome', () => told.ups === 2)
    expect(hub.bearers).toEqual(['Bearer token-2', 'Bearer token-3'])
  })

  test('a missing token is a failed connection with the reason', async () => {
    const { told, connect } = await linkToHub({ operatorToken: () => null })
    connect()
    await eventually('the failure', () => told.downs.length === 1)
    expect(told.downs[0]).toMatchObject({ error_class: 'ws_connect_failed' })
    expect(told.downs[0]?.detail).toContain('token_missing')
  })

  /** Returns a daemon's token that expires at `exp`, in seconds since the epoch. */
  const givenUntil = (exp: number) => {
    const payload = { tenant_id: 'local', identity: 'ada', kind: 'daemon', exp }
    return `${Buffer.from(JSON.stringify(payload)).toString('base64url')}.00`
  }

  test('a given token is used unchanged and renewed with itself, never with the operator token', async () => {
    const clock = fakeClock()
    const exp = clock.now() / 1000 + 100
    const given = givenUntil(exp)
    const { hub, tokens } = await linkToHub({ clock, given })
    expect(await tokens.current()).toBe(given)
    await clock.advance(90_000)
    expect(await tokens.current()).toBe('token-1')
    expect(hub.tokenRequests.map(({ bearer }) => bearer)).toEqual([`Bearer ${given}`])
  })

  test('a given token is used again after the token it was renewed to has expired', async () => {
    const clock = fakeClock()
    const exp = clock.now() / 1000 + 30 * 86_400
    const given = givenUntil(exp)
    const { hub, tokens } = await linkToHub({ clock, given })
    await clock.advance(25 * 86_400_000)
    expect(await tokens.current()).toBe('token-1')
    // Duration of the machine's suspension.
    await clock.advance(2 * 3_600_000)
    expect(await tokens.current()).toBe('token-2')
    expect(hub.tokenRequests.map(({ bearer }) => bearer)).toEqual([`Bearer ${given}`, `Bearer ${given}`])
  })

  test('a refused token is kept if the given one has expired', async () => {
    const clock = fakeClock()
    const { hub, tokens } = await linkToHub({ clock, given: givenUntil(clock.now() / 1000 + 100) })
    await clock.advance(90_000)
    await tokens.current()
    await clock.advance(20_000)
    // The rejection may come from a proxy, or from another hub on its port.
    tokens.forget()
    expect(await tokens.current()).toBe('token-1')
    await clock.advance(3_000_000)
    hub.tokenRefusal = {
      status: 401,
      body: toProblem(new TurnbellError('token_invalid', { detail: 'another key' }), 'x'),
    }
    await expect(tokens.current()).rejects.toMatchObject({ code: 'token_invalid' })
    hub.tokenRefusal = null
    expect(await tokens.current()).toBe('token-2')
  })

  test('a given token valid for longer than the longest timer is checked in between, without a busy loop', async () => {
    const clock = fakeClock()
    const exp = clock.now() / 1000 + 40 * 86_400
    const given = givenUntil(exp)
    const { hub, tokens } = await linkToHub({ clock, given })
    expect(tokens.renewIn()).toBe(2 ** 31 - 1)
    await clock.advance(2 ** 31 - 1)
    expect(await tokens.current()).toBe(given)
    expect(tokens.renewIn()).toBe(0.8 * 40 * 86_400_000 - (2 ** 31 - 1))
    expect(hub.tokenRequests).toEqual([])
  })

  test('an issued token valid for longer than the longest timer is checked in between', async () => {
    const { tokens } = await linkToHub({ clock: fakeClock(), expires_in: 40 * 86_400 })
    await tokens.current()
    expect(tokens.renewIn()).toBe(2 ** 31 - 1)
  })

  test('a response that switches to another protocol fails the token request', async () => {
    const server = net.createServer((socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { tokens } = await linkToHub({ url: () => `http://127.0.0.1:${port}` })
    await expect(tokens.current()).rejects.toMatchObject({ code: 'hub_unreachable' })
  })

  test('a given token that no header can carry is refused at once', async () => {
    const exp = Math.floor(systemClock.now() / 1000) + 100
    const payload = { tenant_id: 'local', identity: 'ada', kind: 'daemon', exp }
    const given = `${Buffer.from(JSON.stringify(payload)).toString('base64url')}.0\n0`
    await expect(linkToHub({ given })).rejects.toMatchObject({ code: 'token_invalid' })
  })

  test.each(['', 'nonsense', 'e30.00'])('the given token %j is refused at once', async (given) => {
    await expect(linkToHub({ given })).rejects.toMatchObject({ code: 'token_invalid' })
  })

  test.each([
    ['no JSON', 'hello'],
    ['another shape', { token: 7 }],
    ['a token that no header carries', { token: 'a\nb', expires_in: 3_600 }],
  ])('a token response with %s is hub_unreachable', async (_, body) => {
    const { hub, tokens } = await linkToHub()
    hub.tokenRefusal = { status: 200, body }
    await expect(tokens.current()).rejects.toMatchObject({ code: 'hub_unreachable' })
  })
})
