/** Tests the bridge between an official client and the transports of a real hub. */
import { describe, expect, test } from 'vitest'
import {
  payloads,
  bridgedClient,
  type BridgedClient,
  type BridgedOptions,
  hurriedClock,
  patientClock,
} from '../../support/worlds/bridge-client.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createHubFallback } from '../../../src/bridge/hub/fallback.ts'
import { relayTo, type Fate } from '../../support/fakes/breaking-relay.ts'
import { eventually } from '../../support/eventually.ts'
import { closedAfterwards } from '../../support/closed-afterwards.ts'
import { send, startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

const open = closedAfterwards()

async function startHub(): Promise<SmallHub> {
  const hub = await startSmallHub()
  for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
  open.push(hub)
  return hub
}

async function connect(
  hub: Pick<SmallHub, 'operator'> & { url: string },
  options: Partial<BridgedOptions['upstream']> & Partial<Pick<BridgedOptions, 'era' | 'bridge'>> = {},
): Promise<BridgedClient> {
  const { era = 'present', identity = 'ada', bridge = {}, ...upstream } = options
  const client = await bridgedClient({
    era,
    bridge,
    upstream: { identity, locate: () => hub.url, operatorToken: () => hub.operator, ...upstream },
  })
  open.push(client)
  return client
}

/** After this time a bridge looks up its hub again, even if the hub has answered before. */
const PLACE_FORGOTTEN_MS = 1000

/** Like a client whose worker waits for a stronger confirmation than the written response. */
const unconfirmed = { drainWritten: () => {} }

const statusOf = async (hub: SmallHub, signal_id: string) => (await hub.store.read(signal_id))?.status
const confirmed = async (hub: SmallHub, signal_id: string) =>
  (await hub.store.read(signal_id))?.stages.confirmed_at ?? null

describe.each(['past', 'present'] as const)('a client of the %s', (era) => {
  test('a client sees the tools of the hub and drains its queue', async () => {
    const hub = await startHub()
    await send(hub, 'one')
    const client = await connect(hub, { era })
    expect(await client.tools()).toEqual(expect.arrayContaining(['signals_pending', 'signals']))
    expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
  })

  test('a client is notified of resources in the format of its protocol version', async () => {
    const client = await connect(await startHub(), { era })
    const listed = (await client.request('resources/list')) as Record<string, unknown>
    expect(listed['resources']).toHaveLength(1)
    for (const field of ['ttlMs', 'cacheScope']) expect(field in listed, field).toBe(era === 'present')
  })

  test("a client receives a rejection as the hub's problem", async () => {
    const client = await connect(await startHub(), { era })
    const answer = await client.call('signals', { action: 'send', params: { to: 'nobody', intent: 'x' } })
    expect(answer.isError).toBe(true)
    expect(answer.structuredContent).toMatchObject({ code: 'target_unknown' })
  })
})

describe.each(['past', 'present'] as const)('a client of the %s with a subscription to its queue', (era) => {
  const uri = 'turnbell://signals/ada/pending'

  test('a subscribed client is notified of a push to its own queue only', async () => {
    const hub = await startHub()
    const client = await connect(hub, { era })
    expect(await client.resources()).toEqual([uri])
    await client.subscribe(uri)
    await eventually('it hears of pushes', async () => {
      await send(hub, 'one')
      return client.updates[0]
    })
    expect(new Set(client.updates)).toEqual(new Set([uri]))
  })

  test('a subscribed client is notified once more after the hub was down, because pushes may have been missed', async () => {
    const first = await startSmallHub()
    await first.personas.add({ identity: 'ada', surface: 'mcp' })
    const at = { url: first.url, operator: first.operator }
    const client = await bridgedClient({
      era,
      upstream: { identity: 'ada', locate: () => at.url, operatorToken: () => at.operator },
    })
    open.push(client)
    await client.subscribe(uri)
    await eventually('it hears of pushes', async () => {
      await send(first, 'one')
      return client.updates[0]
    })
    await first.close()
    const second = await startHub()
    at.url = second.url
    const before = client.updates.length
    await eventually('it is told again', () => client.updates.length > before)
  })
})

test('a client that was shown no tools is notified when there are some', async () => {
  const at = { url: 'http://127.0.0.1:9', operator: 'none' }
  const client = await bridgedClient({
    era: 'past',
    upstream: {
      identity: 'ada',
      locate: () => at.url,
      operatorToken: () => at.operator,
      clock: hurriedClock(50),
    },
  })
  open.push(client)
  await expect(client.tools()).rejects.toMatchObject({
    message: expect.stringContaining('No hub answered') as string,
    data: { code: 'hub_unreachable', retry: 'after_delay' },
  })
  const hub = await startHub()
  Object.assign(at, { url: hub.url, operator: hub.operator })
  await eventually('it is told', () => client.toolsChanged() > 0)
  expect(await client.tools()).toContain('signals_pending')
})

test('a drain is confirmed once its answer is in the pipe of the client', async () => {
  const hub = await startHub()
  const signal_id = await send(hub, 'one')
  const client = await connect(hub)
  client.pause()
  const answer = client.call('signals_pending')
  await eventually('the hub has drained', async () => (await statusOf(hub, signal_id)) === 'acked')
  expect(await confirmed(hub, signal_id)).toBeNull()
  client.resume()
  expect(payloads(await answer)).toEqual(['one'])
  await eventually('the hub has the confirmation', () => confirmed(hub, signal_id))
  expect(hub.store.leases()).toEqual([])
})

test('a drain cancelled by the client is released', async () => {
  const hub = await startHub()
  const signal_id = await send(hub, 'one')
  const client = await connect(hub)
  client.pause()
  const abort = new AbortController()
  const given_up = client
    .call('signals_pending', {}, { abort: abort.signal })
    .catch((error: unknown) => error)
  await eventually('the hub has drained', async () => (await statusOf(hub, signal_id)) === 'acked')
  abort.abort()
  await given_up
  await eventually('it waits again', async () => (await statusOf(hub, signal_id)) === 'pending')
  client.resume()
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
})

/** Returns a client that has cancelled a drain whose response the hub has sent; `pass` delivers the response. */
async function withGivenUpDrain() {
  const hub = await startHub()
  const signal_id = await send(hub, 'one')
  let arrived!: () => void
  const asked = new Promise<void>((resolve) => (arrived = resolve))
  let pass!: () => void
  const gate = new Promise<void>((resolve) => (pass = resolve))
  const holds = (body: string) => body.includes('signals_pending') && !body.includes('confirm')
  const client = await connect(await holdingProxy(hub, holds, arrived, gate))
  const abort = new AbortController()
  const given_up = client
    .call('signals_pending', {}, { abort: abort.signal })
    .catch((error: unknown) => error)
  await asked
  expect(await statusOf(hub, signal_id)).toBe('acked')
  abort.abort()
  await given_up
  return { hub, signal_id, client, pass }
}

test('a drain cancelled before the answer arrived is released too', async () => {
  const { hub, signal_id, client, pass } = await withGivenUpDrain()
  pass()
  await eventually('it waits again', async () => (await statusOf(hub, signal_id)) === 'pending')
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
})

test('a drain cancelled before it is sent is not sent', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  let arrived!: () => void
  const asked = new Promise<void>((resolve) => (arrived = resolve))
  let pass!: () => void
  const gate = new Promise<void>((resolve) => (pass = resolve))
  const isForToken = (body: string) => body.includes('"kind":"agent"')
  const client = await connect(await holdingProxy(hub, isForToken, arrived, gate))
  const abort = new AbortController()
  const given_up = client
    .call('signals_pending', {}, { abort: abort.signal })
    .catch((error: unknown) => error)
  await asked
  abort.abort()
  await given_up
  const next = client.call('signals_pending')
  pass()
  expect((await next).structuredContent).toMatchObject({ signals: [{ payload: 'one', deliveries: 1 }] })
})

test('signals of a drain cancelled before the answer arrived are in the next drain, which is already waiting', async () => {
  const { client, pass } = await withGivenUpDrain()
  const next = client.call('signals_pending')
  pass()
  expect(payloads(await next)).toEqual(['one'])
})

test('neither of two concurrent drains confirms the other before the client has received it', async () => {
  const hub = await startHub()
  const signal_id = await send(hub, 'one')
  const client = await connect(hub, { bridge: unconfirmed })
  await client.tools()
  const drains = () => hub.lines.filter(({ action }) => action === 'pending').length
  client.pause()
  const answers = [client.call('signals_pending'), client.call('signals_pending')]
  await eventually('the hub has drained', async () => (await statusOf(hub, signal_id)) === 'acked')
  // A complete round trip: a drain that did not wait would have been answered.
  await client.upstream.request('tools/list', {}, { repeatable: true })
  expect([drains(), await confirmed(hub, signal_id)]).toEqual([1, null])
  client.resume()
  expect((await Promise.all(answers)).map(payloads)).toEqual([['one'], []])
  // Each connection of the bridge carries one more request, which shows that earlier responses were read.
  const requests = [1, 2, 3].map(() => client.upstream.request('tools/list', {}, { repeatable: true }))
  await Promise.all(requests)
  await eventually('the next drain showed that it has it', () => confirmed(hub, signal_id))
})

test('a hub that returns at another address is found by a waiting call', async () => {
  const first = await startSmallHub()
  await first.personas.add({ identity: 'ada', surface: 'mcp' })
  const at = { url: first.url, operator: first.operator }
  const client = await bridgedClient({
    era: 'present',
    upstream: { identity: 'ada', locate: () => at.url, operatorToken: () => at.operator },
  })
  open.push(client)
  expect(payloads(await client.call('signals_pending'))).toEqual([])
  await first.close()
  const waiting = client.call('signals_pending')
  const second = await startHub()
  await send(second, 'after the restart')
  at.url = second.url
  expect(payloads(await waiting)).toEqual(['after the restart'])
  expect(await client.tools()).toContain('signals_pending')
})

test('a hub that stays down becomes a problem with a hint, and the next call tries again', async () => {
  const hub = await startHub()
  const at = { url: hub.url }
  const clock = patientClock()
  const client = await bridgedClient({
    era: 'present',
    upstream: { identity: 'ada', locate: () => at.url, operatorToken: () => hub.operator, clock },
  })
  open.push(client)
  expect(await client.tools()).toContain('signals')
  at.url = 'http://127.0.0.1:9'
  clock.skip(PLACE_FORGOTTEN_MS)
  clock.hurry(50)
  const answer = await client.call('signals_pending')
  expect(answer.isError).toBe(true)
  expect(answer.structuredContent).toMatchObject({ code: 'hub_unreachable', retry: 'after_delay' })
  expect(answer.structuredContent?.['hint']).toContain('turnbell hub')
  expect(await client.tools(), 'the list of a moment ago stands').toContain('signals')
  clock.hurry(1)
  at.url = hub.url
  expect(payloads(await client.call('signals_pending'))).toEqual([])
})

test('a bridge starts a hub once if none runs', async () => {
  let starts = 0
  const at = { url: 'http://127.0.0.1:9', operator: null as string | null }
  const standIn = createHubFallback({
    clock: systemClock,
    log: silentLog,
    startHub: () => {
      starts += 1
      void startHub().then((hub) => Object.assign(at, { url: hub.url, operator: hub.operator }))
    },
  })
  const client = await bridgedClient({
    era: 'present',
    upstream: {
      identity: 'ada',
      locate: () => at.url,
      operatorToken: () => at.operator,
      onHubMissing: (away_ms, reached) => standIn.onHubMissing(away_ms, reached),
    },
  })
  open.push(client)
  expect(await client.tools()).toContain('signals_pending')
  expect(starts).toBe(1)
})

/** Decides on each response, and on each request before it. */
async function proxyOf(hub: SmallHub, answer: Fate, ask?: Fate) {
  const relay = await relayTo(hub.url, answer, ask)
  open.push(relay)
  return { url: relay.url, operator: hub.operator }
}

/** Drops the first response to such a call together with its connection. */
async function breakingProxy(hub: SmallHub, breaks: (body: string) => boolean) {
  let broken = 0
  const proxy = await proxyOf(hub, (body, send, cut) => {
    if (broken > 0 || !breaks(body)) return send()
    broken += 1
    cut()
  })
  return { ...proxy, broken: () => broken }
}

/** Holds the first response to such a call until the gate opens. */
function holdingProxy(
  hub: SmallHub,
  holds: (body: string) => boolean,
  held: () => void,
  gate: Promise<void>,
) {
  let holding = 0
  return proxyOf(hub, (body, send) => {
    if (holding > 0 || !holds(body)) return send()
    holding += 1
    held()
    void gate.then(send)
  })
}

test('a send with a lost answer is repeated and stored once', async () => {
  const hub = await startHub()
  const proxy = await breakingProxy(hub, (body) => body.includes('"send"'))
  const client = await connect(proxy, { identity: 'bob' })
  const answer = await client.call('signals', {
    action: 'send',
    params: { to: 'ada', intent: 'x', payload: 'once' },
  })
  expect(proxy.broken()).toBe(1)
  expect(answer.structuredContent).toMatchObject({ durable: true })
  expect(hub.store.pendingCount('ada')).toBe(1)
})

test('a drain with a lost answer is repeated', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  const proxy = await breakingProxy(hub, (body) => body.includes('signals_pending'))
  const client = await connect(proxy)
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
  expect(proxy.broken()).toBe(1)
})

test('a process that looks for orphaned leases does not release its own drain', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  let arrived!: () => void
  const asked = new Promise<void>((resolve) => (arrived = resolve))
  let held: (() => void) | null = null
  const passed: Fate = (_, pass) => pass()
  const proxy = await proxyOf(hub, passed, (body, pass) => {
    if (held !== null || !body.includes('leased_to')) return pass()
    held = pass
    arrived()
  })
  const client = await connect(proxy, { bridge: unconfirmed })
  const left = client.bridge.drains.releaseOrphaned('session-1')
  await asked
  const answer = client.call('signals_pending')
  // A complete round trip: a drain that did not wait would have been answered.
  await client.call('signals_pending', { peek: true })
  held!()
  await left
  expect(payloads(await answer)).toEqual(['one'])
  expect(payloads(await client.call('signals_pending'))).toEqual([])
})

test('leases of an earlier process are released once', async () => {
  const hub = await startHub()
  const signal_id = await send(hub, 'one')
  const killed = await connect(hub, { bridge: unconfirmed })
  await killed.call('signals_pending')
  const client = await connect(hub)
  await client.bridge.drains.releaseOrphaned('session-1')
  expect(await statusOf(hub, signal_id)).toBe('pending')
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
})

test('a drain that never reached the hub releases no other drain of its session', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  let drains = 0
  const passed: Fate = (_, pass) => pass()
  const proxy = await proxyOf(hub, passed, (body, pass, cut) => {
    if (!body.includes('signals_pending') || ++drains !== 2) return pass()
    cut()
  })
  const client = await connect(proxy, { bridge: unconfirmed })
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
  expect(payloads(await client.call('signals_pending'))).toEqual([])
  expect(drains).toBe(3)
})

test('of two concurrent drains, the one with a lost answer is repeated before the other', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  const proxy = await breakingProxy(hub, (body) => body.includes('signals_pending'))
  const client = await connect(proxy)
  const answers = await Promise.all([client.call('signals_pending'), client.call('signals_pending')])
  expect(answers.flatMap(payloads)).toEqual(['one'])
})

test('a drain whose answers are lost repeatedly ends as a problem, and its signals are in the next drain', async () => {
  const hub = await startHub()
  await send(hub, 'one')
  let broken = 0
  const proxy = await proxyOf(hub, (body, pass, cut) => {
    if (!body.includes('signals_pending') || ++broken > 2) return pass()
    cut()
  })
  const client = await connect(proxy)
  expect((await client.call('signals_pending')).structuredContent).toMatchObject({ code: 'hub_unreachable' })
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
})

test('an expired token is renewed within the call', async () => {
  const hub = await startHub()
  const other = await startHub()
  const at = { url: hub.url, operator: hub.operator }
  const client = await connect(at, { operatorToken: () => other.operator, locate: () => at.url })
  await client.call('signals_pending')
  expect((await client.call('signals_pending')).isError).toBeUndefined()
})

test('connection headers of the client are not forwarded', async () => {
  const hub = await startHub()
  const client = await connect(hub)
  await client.call('signals_pending', { peek: true })
  expect(hub.lines.at(-1)).toMatchObject({ identity: 'ada', agent_id: 'anonymous' })
})

test('a malformed request is rejected with its problem', async () => {
  const client = await connect(await startHub())
  const refused = await client.request('resources/read', { uri: 5 }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: -32602, data: { code: 'request_invalid' } })
  expect((refused as Error).message).toContain('params.uri')
})

test('an unknown method is rejected with its problem', async () => {
  const client = await connect(await startHub())
  await expect(client.request('no/such/method')).rejects.toMatchObject({
    code: -32601,
    data: { code: 'request_invalid', detail: 'Method not found' },
  })
})

test('a line that is not a message is ignored', async () => {
  const hub = await startHub()
  const client = await connect(hub)
  expect((await client.call('no_such_tool')).isError).toBe(true)
  expect(payloads(await client.call('signals_pending'))).toEqual([])
})
