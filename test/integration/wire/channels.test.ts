import { afterEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { liveHub, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'

let hub: LiveHub
afterEach(() => hub.close())

const subscribe = (client: Client, channel: string) => client.ask({ type: 'subscribe', channel })
const publish = (client: Client, channel: string, event = 'build.done', data: unknown = 1) =>
  client.ask({ type: 'publish', channel, event, data })
const events = (client: Client) => client.frames.filter((frame) => frame.type === 'event')

describe('permission to subscribe', () => {
  test.each([
    ['global', true],
    ['topics/ci', true],
    ['agents/bob', true],
    ['sessions/run-1', true],
    ['agents/alice', false],
    ['sessions/run-2', false],
    ['metrics', false],
  ])('an agent may subscribe to %s: %s', async (channel, allowed) => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent', { session_id: 'run-1' })
    const answer = await subscribe(client, channel)
    expect(answer).toMatchObject(allowed ? { type: 'result', subscribed: true } : { code: 'kind_forbidden' })
  })

  test('an observer may subscribe to every channel', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'observer')
    for (const channel of ['global', 'topics/ci', 'agents/alice', 'sessions/run-2', 'metrics']) {
      expect(await subscribe(client, channel)).toMatchObject({ type: 'result' })
    }
  })

  test('a subscription beyond sixty-four channels is rejected', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'observer')
    for (let n = 0; n < LIMITS.subscriptions_max; n++) await subscribe(client, `topics/t${n}`)
    expect(await subscribe(client, 'topics/late')).toMatchObject({ code: 'limit_reached' })
    expect(await subscribe(client, 'topics/t0')).toMatchObject({ type: 'result' })
    await client.ask({ type: 'unsubscribe', channel: 'topics/t0' })
    expect(await subscribe(client, 'topics/late')).toMatchObject({ type: 'result' })
  })
})

describe('permission to publish', () => {
  test.each([
    ['global', true],
    ['topics/ci', true],
    ['agents/bob', true],
    ['agents/alice', false],
    ['metrics', false],
  ])('an agent may publish on %s: %s', async (channel, allowed) => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    expect(await publish(client, channel)).toMatchObject(
      allowed ? { type: 'result' } : { code: 'kind_forbidden' },
    )
  })

  test('a message larger than a payload is rejected', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'agent')
    expect(await publish(client, 'global', 'x', 'y'.repeat(LIMITS.payload_bytes_max))).toMatchObject({
      code: 'payload_too_large',
    })
  })
})

describe('a reconnected agent', () => {
  const gone = async (client: Client) => {
    client.socket.terminate()
    await client.closed
    await eventually('the hub has noticed', () => hub.hub.api.health().connected.agent === 0)
  }
  const heard = async (client: Client, channel = 'topics/ci') => {
    await hub.call('personas', 'add', { identity: 'tom', surface: 'command' })
    const publisher = await hub.join('tom', 'agent')
    await publish(publisher, channel, 'build.done')
    await client.settled()
    return events(client).flatMap((frame) => (frame.type === 'event' ? [frame.event] : []))
  }

  test('a reconnected agent in the same session has its former subscriptions', async () => {
    hub = await liveHub()
    const first = await hub.join('bob', 'agent', { session_id: 's-1', channels: ['topics/ci', 'topics/old'] })
    await first.ask({ type: 'unsubscribe', channel: 'topics/old' })
    await gone(first)
    const again = await hub.join('bob', 'agent', { session_id: 's-1', channels: ['topics/more'] })
    expect(await heard(again)).toEqual(['build.done'])
    expect(await heard(again, 'topics/old')).toEqual(['build.done'])
    expect(await heard(again, 'topics/more')).toEqual(['build.done', 'build.done'])
  })

  test('a reconnected agent has its new subscriptions, and its former ones within the limit', async () => {
    hub = await liveHub()
    const full = Array.from({ length: LIMITS.subscriptions_max }, (_, count) => `topics/${count}`)
    await gone(await hub.join('bob', 'agent', { session_id: 's-1', channels: full }))
    const again = await hub.join('bob', 'agent', { session_id: 's-1', channels: ['topics/new', 'topics/0'] })
    expect(await heard(again, 'topics/new')).toEqual(['build.done'])
    expect(again.frames.filter(({ type }) => type === 'error')).toEqual([])
  })

  test('an agent that reconnects before its old link is found dead has its former subscriptions', async () => {
    hub = await liveHub()
    await hub.join('bob', 'agent', { session_id: 's-1', channels: ['topics/ci'] })
    const again = await hub.join('bob', 'agent', { session_id: 's-1' })
    expect(await heard(again)).toEqual(['build.done'])
  })

  test.each([
    ['in another session', { session_id: 's-2' }],
    ['without a session', {}],
  ])('%s has no former subscriptions', async (_, hello) => {
    hub = await liveHub()
    await gone(await hub.join('bob', 'agent', { ...hello, session_id: 's-1', channels: ['topics/ci'] }))
    expect(await heard(await hub.join('bob', 'agent', hello))).toEqual([])
  })

  test('an agent whose session counted as lost has no former subscriptions', async () => {
    hub = await liveHub()
    await gone(await hub.join('bob', 'agent', { session_id: 's-1', channels: ['topics/ci'] }))
    await hub.clock.advance(LIMITS.lease_ms + 1)
    expect(await heard(await hub.join('bob', 'agent', { session_id: 's-1' }))).toEqual([])
  })

  test('an observer has no former subscriptions, because several may use one name', async () => {
    hub = await liveHub()
    const first = await hub.join('eve', 'observer', { session_id: 's-1', channels: ['topics/ci'] })
    first.socket.terminate()
    await first.closed
    expect(await heard(await hub.join('eve', 'observer', { session_id: 's-1' }))).toEqual([])
  })
})

describe("the hub's own events", () => {
  test.each([
    'hub.stopping',
    'signal.pushed',
    'persona.active',
    'metric.update',
    'dispatch',
    'run_completed',
  ])("the hub's own event %s cannot be published by a client", async (event) => {
    hub = await liveHub()
    const listener = await hub.join('eve', 'observer', { channels: ['global'] })
    const bob = await hub.join('bob', 'agent')
    for (const channel of ['global', 'topics/ci', 'agents/bob']) {
      expect(await publish(bob, channel, event)).toMatchObject({
        type: 'error',
        code: 'params_invalid',
        detail: expect.stringContaining(event) as string,
      })
    }
    await listener.settled()
    expect(events(listener).filter((frame) => frame.type === 'event' && frame.data === 1)).toEqual([])
  })

  test.each(['hubbub.started', 'x.hub.stopping', 'task.failed', 'signals'])(
    'the name %s is free for clients',
    async (event) => {
      hub = await liveHub()
      const bob = await hub.join('bob', 'agent')
      expect(await publish(bob, 'global', event)).toMatchObject({ type: 'result' })
    },
  )

  test("the hub's own events all belong to a reserved family", async () => {
    hub = await liveHub()
    const observer = await hub.join('eve', 'observer', { channels: ['global', 'metrics', 'agents/bob'] })
    const bob = await hub.join('bob', 'agent')
    await hub.call('personas', 'add', { identity: 'tom', surface: 'command' })
    await hub.call('signals', 'send', { to: 'tom', intent: 'note' })
    bob.socket.send(JSON.stringify({ type: 'heartbeat', seq: 1 }))
    await hub.clock.advance(LIMITS.metrics_channel_interval_ms)
    await observer.settled()
    const heard = new Set(events(observer).flatMap((frame) => (frame.type === 'event' ? [frame.event] : [])))
    expect(heard).toContain('dispatch')
    for (const event of heard) {
      expect(await publish(bob, 'topics/ci', event)).toMatchObject({ code: 'params_invalid' })
    }
  })
})

describe('an event', () => {
  test('an event reaches subscribers of its channel and of all channels once', async () => {
    hub = await liveHub()
    const both = await hub.join('eve', 'observer', { channels: ['topics/ci', 'global'] })
    const global = await hub.join('ann', 'observer', { channels: ['global'] })
    const none = await hub.join('tom', 'observer', { channels: ['topics/other'] })
    const bob = await hub.join('bob', 'agent')
    await publish(bob, 'topics/ci', 'build.done', { ok: true })
    const got = async (client: Client) => {
      await client.settled()
      return events(client).filter((frame) => frame.type === 'event' && frame.event === 'build.done')
    }
    expect(await got(both)).toMatchObject([{ channel: 'topics/ci', data: { ok: true } }])
    expect(await got(global)).toMatchObject([{ channel: 'global' }])
    expect(await got(none)).toEqual([])
  })

  test('events stop after an unsubscribe, and no subscription remains after the link ends', async () => {
    hub = await liveHub()
    const client = await hub.join('eve', 'observer', { channels: ['topics/ci'] })
    const bob = await hub.join('bob', 'agent')
    await client.ask({ type: 'unsubscribe', channel: 'topics/ci' })
    await publish(bob, 'topics/ci')
    await client.settled()
    expect(events(client)).toEqual([])
  })

  test('hub events are sent to observers; an agent is only notified of other personas joining and leaving', async () => {
    hub = await liveHub()
    const observer = await hub.join('eve', 'observer', { channels: ['global'] })
    const agent = await hub.join('ann', 'agent', { channels: ['global'] })
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    await hub.call('signals', 'send', { to: 'bob', intent: 'note', payload: 'SECRET' })
    await eventually('the observer sees it', () =>
      events(observer).some((frame) => frame.type === 'event' && frame.event === 'signal.pushed'),
    )
    await agent.settled()
    const heard = events(agent).map((frame) => (frame.type === 'event' ? frame.event : ''))
    expect(heard).toContain('persona.active')
    expect(heard.filter((event) => event.startsWith('signal.') || event === 'dispatch')).toEqual([])
    expect(JSON.stringify(observer.frames)).not.toContain('SECRET')
  })
})

describe('the metrics channel', () => {
  test('subscribers of the metrics channel receive figures every five seconds', async () => {
    hub = await liveHub()
    const client = await hub.join('eve', 'observer', { channels: ['metrics'] })
    await hub.clock.advance(LIMITS.metrics_channel_interval_ms)
    expect(await client.next('event')).toMatchObject({
      channel: 'metrics',
      event: 'metric.update',
      data: { signals_pending: 0, observers: 1 },
    })
    await hub.clock.advance(LIMITS.metrics_channel_interval_ms)
    await client.next('event')
  })

  test('the metrics contain the active personas, their traffic and their latency', async () => {
    hub = await liveHub()
    const client = await hub.join('eve', 'observer', { channels: ['metrics'] })
    await hub.join('bob', 'agent', { session_id: 's-1' })
    await hub.join('bob', 'agent', { session_id: 's-2', surface: 'codex' })
    await hub.join('bob', 'daemon')
    for (let n = 0; n < 3; n++) await hub.call('signals', 'send', { to: 'bob', intent: 'note' })
    const figures = async () => {
      await hub.clock.advance(LIMITS.metrics_channel_interval_ms)
      return (await client.next('event')).data as Record<string, number>
    }
    const now = await figures()
    expect(now).toMatchObject({
      sessions_active: 2,
      agents_active: 1,
      actions_per_minute: 3,
      signals_pending: 3,
    })
    expect(now['action_average_ms']).toBeGreaterThanOrEqual(0)
    await hub.clock.advance(60_000)
    let later = await figures()
    while (later['uptime_s'] !== 70) later = (await client.next('event')).data as Record<string, number>
    expect(later).toMatchObject({ actions_per_minute: 0, action_average_ms: 0, signals_pending: 3 })
  })
})

describe('a critical event', () => {
  const tries = (client: Client) => events(client).length

  test('a critical event is repeated every five seconds up to three times, then dropped', async () => {
    hub = await liveHub()
    const client = await hub.join('eve', 'observer', { channels: ['topics/work'] })
    const bob = await hub.join('bob', 'agent')
    await publish(bob, 'topics/work', 'task.failed')
    await client.settled()
    expect(tries(client)).toBe(1)
    await hub.clock.advance(4_000)
    await client.settled()
    expect(tries(client)).toBe(1)
    await hub.clock.advance(2_000)
    await client.settled()
    expect(tries(client)).toBe(2)
    await hub.clock.advance(6_000)
    await client.settled()
    expect(tries(client)).toBe(3)
    await hub.clock.advance(15_000)
    await client.settled()
    expect(tries(client)).toBe(3)
    const ids = events(client).map((frame) => (frame.type === 'event' ? frame.id : ''))
    expect(new Set(ids).size).toBe(1)
    expect(await (await hub.http('GET', '/metrics')).text()).toContain(
      'turnbell_hub_critical_events_dropped 1',
    )
  })

  test.each(['task.created', 'subtask.running', 'message.new'])(
    '%s is not repeated after its acknowledgement',
    async (event) => {
      hub = await liveHub()
      const client = await hub.join('eve', 'observer', { channels: ['topics/work'] })
      const bob = await hub.join('bob', 'agent')
      await publish(bob, 'topics/work', event)
      const { id } = await client.next('event')
      client.send({ type: 'ack', message_id: id })
      client.send({ type: 'ack', message_id: 'never-heard-of' })
      await client.settled()
      await hub.clock.advance(30_000)
      await client.settled()
      expect(tries(client)).toBe(1)
    },
  )

  test.each(['tasks', 'task', 'mytask.done', 'tasks.done'])(
    'an event is not critical if it is %s',
    async (event) => {
      hub = await liveHub()
      const client = await hub.join('eve', 'observer', { channels: ['topics/work'] })
      const bob = await hub.join('bob', 'agent')
      await publish(bob, 'topics/work', event)
      await hub.clock.advance(30_000)
      await client.settled()
      expect(tries(client)).toBe(1)
    },
  )

  test('a heartbeat is not critical', async () => {
    hub = await liveHub()
    const client = await hub.join('eve', 'observer', { channels: ['agents/bob'] })
    const bob = await hub.join('bob', 'agent')
    bob.socket.send(JSON.stringify({ type: 'heartbeat', seq: 1 }))
    await bob.settled()
    await hub.clock.advance(30_000)
    await client.settled()
    const heard = events(client).map((frame) => (frame.type === 'event' ? frame.event : ''))
    expect(heard.filter((event) => event === 'agent.heartbeat')).toHaveLength(1)
  })
})
