import { afterEach, describe, expect, test } from 'vitest'
import { CLOSE, type HubFrameOf } from '../../../src/contracts/frames.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { atRest } from '../../support/fakes/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { facts } from '../../support/worlds/signal-world.ts'
import { liveHub, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'

let hub: LiveHub
afterEach(() => hub.close())

const ULID = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const add = (identity: string) => hub.call('personas', 'add', { identity, surface: 'command' })
const send = (to: string, params: object = {}) =>
  hub.call<{ signal_id: string; seq: number }>('signals', 'send', { to, intent: 'note', ...params })
const call = (client: Client, action: string, params: object = {}, facade = 'signals') =>
  client.ask<HubFrameOf<'result'> & { result: Record<string, unknown> }>({
    type: 'call',
    facade,
    action,
    params,
  })

describe('invalid input', () => {
  test('a deeply nested frame is rejected like any other, also before the hello', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    hub = await liveHub()
    const stranger = await hub.dial()
    stranger.socket.send(`{"type":"publish","id":1,"channel":"global","event":"x","data":${deep}}`)
    expect(await stranger.next('error')).toMatchObject({ code: 'frame_invalid' })
  })

  test.each([
    ['invalid JSON', 'hello?'],
    ['JSON that is not an object', '[1,2]'],
    ['an unknown type', '{"type":"drain"}'],
    ['a missing field', '{"type":"subscribe","id":1}'],
    ['an unknown field', '{"type":"ping","shout":true}'],
    ['a bad channel', '{"type":"subscribe","id":1,"channel":"../etc"}'],
    ['an empty frame', ''],
    ['deep nesting', '['.repeat(50_000)],
    ['a prototype', '{"type":"ping","__proto__":{"kind":"operator"}}'],
  ])('%s is answered with an error frame, and the link stays open', async (_, text) => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    client.socket.send(text)
    expect(await client.next('error')).toMatchObject({ code: 'frame_invalid', status: 400 })
    await client.settled()
  })

  test('a frame with a number that would be rounded is rejected with its path, and nothing is sent', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    const send = '{"to":"bob","intent":"x","payload":{"id":9007199254740993}}'
    client.socket.send(`{"type":"call","id":7,"facade":"signals","action":"send","params":${send}}`)
    expect(await client.next('error')).toMatchObject({
      id: 7,
      code: 'params_invalid',
      detail: 'payload.id: 9007199254740993 is beyond 2^53; send it as a text',
    })
    client.socket.send('{"type":"call","id":1764391000123456789,"facade":"signals","action":"inbox"}')
    expect(await client.next('error')).toMatchObject({
      detail: 'id: 1764391000123456789 is beyond 2^53; send it as a text',
    })
    await client.settled()
  })

  test('a binary frame is answered with an error frame', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    client.socket.send(Buffer.from('{"type":"ping"}'))
    expect(await client.next('error')).toMatchObject({ code: 'frame_invalid' })
  })

  test('an invalid frame with an id is answered with that id', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    client.send({ type: 'subscribe', id: 'mine', channel: 'nowhere' })
    expect(await client.next('error')).toMatchObject({
      id: 'mine',
      detail: expect.stringContaining('channel') as string,
    })
  })

  test('ten invalid frames in a row close the link with 4400; nine and a valid one do not', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    for (let n = 0; n < LIMITS.malformed_frames_max - 1; n++) client.socket.send('x')
    await client.settled()
    for (let n = 0; n < LIMITS.malformed_frames_max; n++) client.socket.send('x')
    expect(await client.closed).toBe(CLOSE.malformed)
  })

  test('an invalid frame before the hello closes the link with 4400', async () => {
    hub = await liveHub()
    const client = await hub.dial({ token: hub.token('bob') })
    for (let n = 0; n < LIMITS.malformed_frames_max; n++) client.socket.send('x')
    expect(await client.closed).toBe(CLOSE.malformed)
  })

  test('a frame over 256 KiB closes its link, and no other', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    const other = await hub.join('alice', 'agent')
    client.socket.send(JSON.stringify({ type: 'publish', data: 'x'.repeat(LIMITS.frame_bytes_max) }))
    expect(await client.closed).toBe(1009)
    await other.settled()
  })

  test('a frame of exactly 256 KiB is accepted', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    client.socket.send(' '.repeat(LIMITS.frame_bytes_max))
    expect(await client.next('error')).toMatchObject({ code: 'frame_invalid' })
    await client.settled()
  })
})

describe('a daemon', () => {
  test.each([
    ['drain', 'pending', {}],
    ['look into the inbox', 'inbox', {}],
    ['send', 'send', { to: 'bob', intent: 'note' }],
    ['broadcast', 'broadcast', { intent: 'note' }],
    ['ack', 'ack', { signal_ids: [ULID] }],
    ['release', 'release', { signal_ids: [ULID] }],
    ['replay', 'replay', { signal_ids: [ULID] }],
    ['read', 'read', { signal_id: ULID }],
  ])('a daemon cannot %s', async (_, action, params) => {
    hub = await liveHub()
    await add('bob')
    await send('bob')
    const client = await hub.join('bob', 'daemon')
    expect(await call(client, action, params)).toMatchObject({ type: 'error', code: 'kind_forbidden' })
    expect(hub.stores.signals.pendingCount('bob')).toBe(1)
  })

  test('a daemon cannot publish', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'daemon')
    const answer = await client.ask({ type: 'publish', channel: 'topics/ci', event: 'x', data: 1 })
    expect(answer).toMatchObject({ type: 'error', code: 'kind_forbidden' })
  })

  test('a daemon lists the waiting signals of its own persona without payloads', async () => {
    hub = await liveHub()
    await add('bob')
    await add('alice')
    await send('alice', { payload: 'for alice' })
    const { signal_id, seq } = await send('bob', { payload: 'SECRET', topic: 'SECRET', priority: 7 })
    const client = await hub.join('bob', 'daemon')
    const listing = await client.ask({ type: 'pending.peek', limit: 10 })
    expect(listing).toEqual({
      type: 'pending',
      id: listing.type === 'pending' ? listing.id : '',
      signals: [{ signal_id, seq, from: 'operator', intent: 'note', priority: 7 }],
      total: 1,
      in_progress_count: 0,
      as_of_seq: seq,
    })
    expect(JSON.stringify(client.frames)).not.toContain('SECRET')
    expect(hub.stores.signals.pendingCount('bob')).toBe(1)
  })

  test('a daemon receives a push without the payload after the signal is stored, and the push is recorded', async () => {
    hub = await liveHub()
    await add('bob')
    const client = await hub.join('bob', 'daemon')
    const { signal_id, seq } = await send('bob', { payload: 'SECRET' })
    expect(await client.next('signal.pushed')).toEqual({
      type: 'signal.pushed',
      signal_id,
      seq,
      to: 'bob',
      from: 'operator',
      intent: 'note',
      priority: 3,
      pending_count: 1,
      in_progress_count: 0,
    })
    expect((await hub.stores.signals.read(signal_id))?.stages.pushed_at).not.toBeNull()
    expect(JSON.stringify(client.frames)).not.toContain('SECRET')
  })

  test('a daemon is notified of signals that leave the queue without a drain, and an agent is not', async () => {
    hub = await liveHub()
    await add('bob')
    const [first, second] = [await send('bob', { ttl_s: 1 }), await send('bob')]
    const daemon = await hub.join('bob', 'daemon')
    const agent = await hub.join('bob', 'agent')
    await hub.clock.advance(LIMITS.sweep_interval_ms)
    expect(await daemon.next('event')).toMatchObject({
      channel: 'agents/bob',
      event: 'signal.expired',
      data: { signal_ids: [first.signal_id], pending_count: 1 },
    })
    await hub.call('signals', 'ack', { signal_ids: [second.signal_id] })
    expect(await daemon.next('event')).toMatchObject({
      channel: 'agents/bob',
      event: 'signal.completed',
      data: { signal_ids: [second.signal_id], pending_count: 0 },
    })
    await agent.settled()
    expect(agent.frames.filter(({ type }) => type === 'event')).toEqual([])
  })

  test('a daemon receives no push before the store has confirmed', async () => {
    const held: { keep: (() => void) | null } = { keep: null }
    hub = await liveHub({
      spy: (store) => ({
        ...store,
        append: async (signal) => {
          await new Promise<void>((resolve) => (held.keep = resolve))
          return store.append(signal)
        },
      }),
    })
    await add('bob')
    const daemon = await hub.join('bob', 'daemon')
    const sent = send('bob')
    await eventually('the store was asked', () => held.keep !== null)
    await daemon.settled()
    expect(daemon.frames.filter(({ type }) => type === 'signal.pushed')).toEqual([])
    held.keep?.()
    const { signal_id } = await sent
    expect(await daemon.next('signal.pushed')).toMatchObject({ signal_id })
  })

  test('a daemon is notified of drains and releases with the remaining number', async () => {
    hub = await liveHub()
    await add('bob')
    const daemon = await hub.join('bob', 'daemon')
    const agent = await hub.join('bob', 'agent', { session_id: 'run-1', surface: 'mcp' })
    const first = await send('bob')
    await send('bob')
    await call(agent, 'pending', { limit: 1 })
    expect(await daemon.next('signal.drained')).toEqual({
      type: 'signal.drained',
      signal_ids: [first.signal_id],
      session_id: 'run-1',
      pending_count: 1,
      in_progress_count: 0,
    })
    agent.socket.terminate()
    expect(await daemon.next('signal.released')).toEqual({
      type: 'signal.released',
      signal_ids: [first.signal_id],
      pending_count: 2,
      in_progress_count: 0,
    })
  })

  test('a daemon is not pushed a signal for a session that its surface does not have', async () => {
    hub = await liveHub()
    await add('bob')
    const daemon = await hub.join('bob', 'daemon')
    daemon.send({ type: 'heartbeat', seq: 1, surface: facts('run-9') })
    await daemon.settled()
    const agent = await hub.join('bob', 'agent', { session_id: 'run-1', surface: 'mcp' })
    const { signal_id } = await send('bob', { to_session: 'run-1' })
    expect(await agent.next('signal.pushed')).toMatchObject({ signal_id, pending_count: 1 })
    await daemon.settled()
    expect(daemon.frames.filter(({ type }) => type === 'signal.pushed')).toEqual([])
    expect(await daemon.ask({ type: 'pending.peek' })).toMatchObject({ total: 0, signals: [] })
  })

  test("a daemon reports doorbell stages for its own persona's signals", async () => {
    hub = await liveHub()
    await add('bob')
    const { signal_id } = await send('bob')
    const daemon = await hub.join('bob', 'daemon')
    daemon.send({ type: 'doorbell', doorbell_id: ULID, signal_id, stage: 'accepted' })
    daemon.send({ type: 'doorbell', doorbell_id: ULID, signal_id: ULID, stage: 'seen' })
    await eventually(
      'the bell is noted',
      async () => (await hub.stores.signals.read(signal_id))?.stages.rung_at,
    )
    await daemon.settled()
    expect(hub.stores.events.read({ type: 'doorbell.', limit: 10 }).events).toMatchObject([
      { type: 'doorbell.accepted', agent_id: 'bob', data: { signal_id } },
    ])
    const agent = await hub.join('bob', 'agent')
    agent.send({ type: 'doorbell', doorbell_id: ULID, signal_id, stage: 'seen' })
    expect(await agent.next('error')).toMatchObject({ code: 'kind_forbidden' })
  })
})

describe('an observer', () => {
  test.each([
    ['drain', 'pending', {}],
    ['send', 'send', { to: 'bob', intent: 'note' }],
    ['ack', 'ack', { signal_ids: [ULID] }],
  ])('an observer cannot %s', async (_, action, params) => {
    hub = await liveHub()
    await add('bob')
    const client = await hub.join('bob', 'observer')
    expect(await call(client, action, params)).toMatchObject({ type: 'error', code: 'kind_forbidden' })
  })

  test('an observer cannot publish, has no registration and is counted separately', async () => {
    hub = await liveHub()
    await add('bob')
    const client = await hub.join('bob', 'observer')
    const again = await hub.join('bob', 'observer')
    const answer = await client.ask({ type: 'publish', channel: 'global', event: 'x', data: 1 })
    expect(answer).toMatchObject({ type: 'error', code: 'kind_forbidden' })
    await again.settled()
    expect(hub.hub.api.health().connected).toEqual({ agent: 0, daemon: 0, observer: 2 })
    expect(await hub.call('personas', 'get', { identity: 'bob' })).toMatchObject({ registrations: [] })
  })
})

describe('a call', () => {
  test('a call drains as the persona of the link, and its lease holds after the answer was written', async () => {
    hub = await liveHub()
    await add('bob')
    await send('bob', { payload: 1 })
    const agent = await hub.join('bob', 'agent', { session_id: 'run-1' })
    const first = await call(agent, 'pending')
    expect(first.result).toMatchObject({ signals: [{ payload: 1, deliveries: 1 }], remaining: 0 })
    await call(agent, 'pending')
    await eventually('both pongs have come', () => hub.stores.signals.leases().length === 0)
  })

  test('a lease is released if the link breaks before the answer is written', async () => {
    const held: { go: () => void } = { go: () => undefined }
    hub = await liveHub({
      spy: (store) => ({
        ...store,
        drain: async (...told) => {
          await new Promise<void>((resolve) => (held.go = resolve))
          return store.drain(...told)
        },
      }),
    })
    await add('bob')
    const { signal_id } = await send('bob')
    const agent = await hub.join('bob', 'agent', { session_id: 'run-1' })
    agent.send({ type: 'call', id: 1, facade: 'signals', action: 'pending' })
    await agent.settled()
    agent.socket.terminate()
    await eventually('the hub noticed', () => hub.hub.api.health().connected.agent === 0)
    held.go()
    await eventually('the signal waits again', () => hub.stores.signals.pendingCount('bob') === 1)
    await atRest()
    expect(hub.stores.signals.leases()).toEqual([])
    expect((await hub.stores.signals.read(signal_id))?.deliveries).toBe(1)
  })

  test.each([
    ['of an agent that names no session', {}],
    ['of an agent that names its session', { session_id: 'run-1' }],
  ])('a lease %s is released when its link ends', async (_, hello) => {
    hub = await liveHub()
    await add('bob')
    const { signal_id } = await send('bob')
    const agent = await hub.join('bob', 'agent', hello)
    expect((await call(agent, 'pending')).result).toMatchObject({ signals: [{ signal_id }] })
    agent.socket.terminate()
    await eventually('the signal waits again', () => hub.stores.signals.pendingCount('bob') === 1)
    const next = await hub.join('bob', 'agent', hello)
    expect((await call(next, 'pending')).result).toMatchObject({ signals: [{ signal_id, deliveries: 2 }] })
  })

  test('a failing call is answered with the problem under its id', async () => {
    hub = await liveHub()
    const agent = await hub.join('bob', 'agent')
    expect(await call(agent, 'send', { to: 'nobody', intent: 'x' })).toMatchObject({
      type: 'error',
      code: 'target_unknown',
      status: 404,
      hint: expect.any(String) as string,
    })
    expect(await call(agent, 'fly')).toMatchObject({ code: 'action_unknown' })
    expect(await call(agent, 'list', {}, 'nothing')).toMatchObject({ code: 'facade_unknown' })
    expect(await call(agent, 'send', { to: 1 })).toMatchObject({ code: 'params_invalid' })
  })

  test('a call whose answer is larger than a frame is rejected with a hint', async () => {
    hub = await liveHub()
    await add('bob')
    for (let n = 0; n < 6; n++) await send('bob', { payload: 'x'.repeat(60_000) })
    const agent = await hub.join('bob', 'agent')
    const page = { facade: 'signals', action: 'inbox', params: { limit: 3 } }
    const both = await call(agent, 'batch', { calls: [page, page] }, 'workflow')
    expect(both).toMatchObject({ code: 'limit_reached' })
    expect((await call(agent, 'inbox', { limit: 3 })).result).toMatchObject({ signals: { length: 3 } })
  })

  test('a call may contain limits and the id of its run', async () => {
    hub = await liveHub()
    await add('bob')
    const agent = await hub.join('bob', 'agent')
    const bounded = (narrowing: object) =>
      agent.ask({ type: 'call', facade: 'signals', action: 'inbox', narrowing, context: { run_id: 'r1' } })
    expect(await bounded({ facades: ['personas'] })).toMatchObject({
      type: 'error',
      code: 'facade_forbidden',
    })
    expect(await bounded({ read_only: true })).toMatchObject({ type: 'result', result: { signals: [] } })
    expect(await bounded({ read_only: 'yes' })).toMatchObject({ type: 'error', code: 'frame_invalid' })
    const { events } = hub.stores.events.read({ type: 'dispatch', limit: 1_000 })
    const runs = events.map(({ data }) => data['run_id'])
    expect(runs.slice(-2)).toEqual(['r1', 'r1'])
  })

  test.each([
    [
      { narrowing: { readonly: true } },
      '"readonly" in narrowing (did you mean read_only?); allowed: facets, ',
    ],
    [{ narrowing: { allowed_facades: ['git'] } }, '"allowed_facades" in narrowing'],
    [{ narrowing: { read_only: true, facade: ['git'] } }, '"facade" in narrowing'],
    [{ context: { scpoe: 'x' } }, '"scpoe" in context (did you mean scope?); allowed: agent_id, run_id, '],
    [{ read_only: true }, '"read_only"'],
  ])('a call with %j is rejected without an effect', async (said, why) => {
    hub = await liveHub()
    await add('bob')
    const agent = await hub.join('bob', 'agent')
    const params = { to: 'bob', intent: 'x' }
    expect(
      await agent.ask({ type: 'call', facade: 'signals', action: 'send', params, ...said }),
    ).toMatchObject({
      type: 'error',
      code: 'frame_invalid',
      detail: expect.stringContaining(`unknown field ${why}`) as string,
    })
    expect(hub.stores.signals.pendingCount('bob')).toBe(0)
  })

  test('calls on one link keep the order of sends', async () => {
    hub = await liveHub()
    await add('bob')
    const agent = await hub.join('alice', 'agent')
    for (let id = 0; id < 20; id++) {
      agent.send({
        type: 'call',
        id,
        facade: 'signals',
        action: 'send',
        params: { to: 'bob', intent: 'n', payload: id },
      })
    }
    await eventually('all are stored', () => hub.stores.signals.pendingCount('bob') === 20)
    const waiting = await hub.stores.signals.readPending('bob', 20)
    expect(waiting.map(({ signal }) => signal.payload)).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })
})

describe('a silent link', () => {
  test('a silent link is pinged every thirty seconds and closed after sixty', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'observer')
    let pings = 0
    client.socket.on('ping', () => (pings += 1))
    await hub.clock.advance(LIMITS.ws_ping_interval_ms)
    await eventually('a ping came', () => pings === 1)
    // Its response has arrived: the silence begins here.
    await client.settled()
    client.socket.pause()
    await hub.clock.advance(LIMITS.ws_silence_max_ms + LIMITS.sweep_interval_ms)
    await eventually('it is gone', () => hub.hub.api.health().connected.observer === 0)
  })

  test('a link whose client sends frames but answers no ping, which a drain waits for, is closed', async () => {
    hub = await liveHub()
    await add('bob')
    const client = await hub.join('bob', 'agent')
    client.socket.pong = () => undefined
    await hub.call('signals', 'send', { to: 'bob', intent: 'note' })
    await client.ask({ type: 'call', facade: 'signals', action: 'pending' })
    const all_ms = LIMITS.ws_silence_max_ms + LIMITS.sweep_interval_ms
    for (let passed = 0; passed < all_ms; passed += LIMITS.sweep_interval_ms) {
      client.send({ type: 'heartbeat', seq: passed })
      await hub.clock.advance(LIMITS.sweep_interval_ms)
    }
    await eventually('it is gone', () => hub.hub.api.health().connected.agent === 0)
  })

  test('a daemon that pings without heartbeats expires', async () => {
    hub = await liveHub()
    const daemon = await hub.join('bob', 'daemon')
    for (let n = 0; n < 4; n++) {
      await hub.clock.advance(8_000)
      await daemon.settled().catch(() => undefined)
    }
    await hub.clock.advance(LIMITS.sweep_interval_ms)
    expect(await daemon.closed).toBe(CLOSE.going_away)
    expect(hub.stores.events.read({ type: 'peer.left', limit: 5 }).events).toMatchObject([
      { data: { kind: 'daemon', reason: 'expire' } },
    ])
  })

  test('a client that does not read loses its link and does not affect the hub', async () => {
    hub = await liveHub()
    await add('bob')
    const client = await hub.join('bob', 'agent')
    const noisy = await hub.join('alice', 'agent')
    client.send({ type: 'subscribe', id: 1, channel: 'topics/flood' })
    await client.next('result')
    client.socket.pause()
    const data = 'x'.repeat(60_000)
    const flood = { type: 'publish', channel: 'topics/flood', event: 'x', data } as const
    await eventually('it is cut off', async () => {
      await Promise.all(Array.from({ length: 8 }, () => noisy.ask(flood)))
      return hub.hub.api.health().connected.agent === 1
    })
    await noisy.settled()
  })
})
