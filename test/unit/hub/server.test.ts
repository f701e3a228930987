import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { CLOSE } from '../../../src/contracts/frames.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { defineAction, defineFacade } from '../../../src/kernel/define.ts'
import { createMemorySignalStore } from '../../../src/storage/memory/signal-store.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { portHolder } from '../../../src/system/ipc/port-holder.ts'
import { liveHub, type LiveHub } from '../../support/worlds/live-hub.ts'
import { signalMaker } from '../../support/signals.ts'

let hub: LiveHub
afterEach(() => hub.close())

/** Returns an action that runs until the test finishes it. */
function slow(): { facade: ReturnType<typeof defineFacade>; started: () => number; finish: () => void } {
  let started = 0
  let finish: () => void = () => undefined
  const until = new Promise<void>((resolve) => (finish = resolve))
  const facade = defineFacade({
    ...{ name: 'slow', summary: 'Slow.', compact: 'Slow.', facet: 'core' },
    actions: {
      wait: defineAction({
        ...{ summary: 'Wait.', mutates: true, errors: [], allow: ['agent'] },
        input: z.strictObject({}),
        output: z.object({ waited: z.boolean() }),
        handle: async () => {
          started += 1
          await until
          return { waited: true }
        },
      }),
    },
  })
  return { facade, started: () => started, finish }
}

async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function knock(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('connect', () => {
      socket.destroy()
      resolve('connected')
    })
  })
}

describe('a hub that starts', () => {
  test('a starting hub releases earlier leases before clients can connect', async () => {
    const clock = fakeClock()
    const left = createMemorySignalStore(clock)
    const make = signalMaker(clock)
    const signal = make.signal()
    await left.append(signal)
    await left.drain('bob', { ...make.lease(), limit: 1, now: make.at() })
    const port = await freePort()
    const knocks: string[] = []
    hub = await liveHub({
      clock,
      stores: { signals: left },
      settings: { port },
      spy: (store) => ({
        ...store,
        async release(drain_id) {
          knocks.push(await knock(port))
          return store.release(drain_id)
        },
      }),
    })
    expect(knocks).toEqual(['ECONNREFUSED'])
    expect(await knock(port)).toBe('connected')
    expect(left.pendingCount('bob')).toBe(1)
  })
})

describe('a hub that stops', () => {
  test('a stopping hub notifies its links, finishes running calls, and then closes the links', async () => {
    const { facade, started, finish } = slow()
    hub = await liveHub({ facades: [...FACADES, facade] })
    const daemon = await hub.join('bob', 'daemon')
    const agent = await hub.join('ann', 'agent')
    const overHttp = hub.call('slow', 'wait')
    const overWs = agent.ask({ type: 'call', facade: 'slow', action: 'wait' })
    await eventually('both run', () => started() === 2)
    const stopped = hub.server.stop()
    expect(await daemon.next('lifecycle.shutdown')).toEqual({
      type: 'lifecycle.shutdown',
      reason: 'stopping',
    })
    expect(hub.hub.api.readiness().ready).toBe(false)
    expect(hub.hub.api.health().status).toBe('stopping')
    await expect(hub.http('GET', '/ready')).rejects.toThrow()
    await daemon.settled()
    expect(await agent.ask({ type: 'call', facade: 'slow', action: 'wait' })).toMatchObject({
      code: 'hub_stopping',
    })
    finish()
    expect(await overHttp).toEqual({ waited: true })
    expect(await overWs).toMatchObject({ type: 'result', result: { waited: true } })
    expect(await stopped).toEqual({ cut_off: false })
    expect(await Promise.all([daemon.closed, agent.closed])).toEqual([CLOSE.going_away, CLOSE.going_away])
  })

  test('a stopping hub waits at most thirty seconds', async () => {
    const { facade, started } = slow()
    hub = await liveHub({ facades: [...FACADES, facade] })
    const agent = await hub.join('ann', 'agent')
    agent.send({ type: 'call', id: 1, facade: 'slow', action: 'wait' })
    const request = hub.call('slow', 'wait').catch((error: unknown) => error)
    await eventually('both run', () => started() === 2)
    let over = false
    const stopped = hub.server.stop().then((how) => ((over = true), how))
    await hub.clock.advance(LIMITS.close_grace_ms - 1)
    expect(over).toBe(false)
    await hub.clock.advance(1)
    await agent.closed
    await hub.clock.advance(2_000)
    expect(await stopped).toEqual({ cut_off: true })
    expect(await request).toBeInstanceOf(Error)
  })

  test('a stopping hub terminates a link that does not answer its close', async () => {
    hub = await liveHub()
    const client = await hub.join('bob', 'observer')
    client.socket.pause()
    const stopped = hub.server.stop()
    await atRest()
    await eventually('it was cut off', async () => {
      await hub.clock.advance(1_000)
      return hub.hub.api.health().connected.observer === 0
    })
    await stopped
  })

  test('a stopping hub leaves no timer, and stops once however often it is asked', async () => {
    const clock = fakeClock()
    hub = await liveHub({ clock })
    await hub.join('bob', 'daemon')
    await Promise.all([hub.server.stop(), hub.server.stop()])
    await atRest()
    expect(clock.armed()).toBe(0)
  })
})

describe('a hub whose store is read-only', () => {
  test('a hub with a read-only store reports that, rejects sends with the reason, and keeps running', async () => {
    let broken = false
    hub = await liveHub({
      spy: (store) => ({
        ...store,
        append: async (signal) => {
          if (broken) throw new TurnbellError('store_unavailable', { detail: 'ENOSPC: no space left' })
          return store.append(signal)
        },
        health: () => ({
          ...store.health(),
          ...(broken ? { writable: false, reason: 'ENOSPC: no space left' } : {}),
        }),
      }),
    })
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    await hub.call('signals', 'send', { to: 'bob', intent: 'note' })
    broken = true
    const ready = await hub.http('GET', '/ready', { token: null })
    expect(ready.status).toBe(503)
    expect(await ready.text()).toContain('ENOSPC')
    const health = await hub.http('GET', '/health', { token: null })
    expect(await health.json()).toMatchObject({ status: 'degraded' })
    await expect(hub.call('signals', 'send', { to: 'bob', intent: 'note' })).rejects.toThrow(
      'store_unavailable',
    )
    expect(await hub.call('signals', 'inbox', {})).toMatchObject({ signals: { length: 1 } })
    expect(await (await hub.http('GET', '/metrics')).text()).toContain('turnbell_hub_store_writable 0')
  })

  test('a stopping hub with a read-only store rejects joins with the reason', async () => {
    hub = await liveHub()
    hub.hub.stopping()
    const asked = http.get(`${hub.url}/ws`, {
      headers: { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    })
    const [answer] = (await once(asked, 'response')) as [http.IncomingMessage]
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([503, 'application/problem+json'])
    expect(JSON.parse((await answer.toArray()).join(''))).toMatchObject({ code: 'hub_stopping' })
  })

  test('a resumed hub reads waiting frames before any session counts as silent', async () => {
    const clock = fakeClock()
    let stood_ms = 0
    hub = await liveHub({ clock: { ...clock, monotonic: () => clock.monotonic() + stood_ms } })
    const agents = () => hub.hub.api.health().connected.agent
    const bob = await hub.join('bob', 'agent', { session_id: 's-1' })
    await hub.join('ann', 'agent', { session_id: 's-2' })
    stood_ms = LIMITS.registration_expire_ms + 1
    await clock.advance(LIMITS.sweep_interval_ms)
    expect(agents()).toBe(2)
    bob.send({ type: 'heartbeat', seq: 1 })
    await bob.settled()
    await clock.advance(LIMITS.sweep_interval_ms)
    expect(agents()).toBe(1)
  })

  test('a hub survives a failing sweep and logs it', async () => {
    hub = await liveHub({
      spy: (store) => ({
        ...store,
        expire: async () => {
          throw new TurnbellError('store_unavailable', { detail: 'EIO' })
        },
      }),
    })
    await hub.clock.advance(LIMITS.sweep_interval_ms)
    await eventually('it is logged', () => hub.logged.some(({ message }) => message === 'job failed'))
    expect((await hub.http('GET', '/ready', { token: null })).status).toBe(200)
  })
})

test('a sweep interrupted by a stop is not a failure', async () => {
  let cutOff = (): void => undefined
  hub = await liveHub({
    spy: (store) => ({
      ...store,
      expire: () =>
        new Promise((_, reject) => {
          cutOff = () => reject(new TurnbellError('store_unavailable', { detail: 'The store is closed.' }))
        }),
    }),
  })
  await hub.clock.advance(LIMITS.sweep_interval_ms)
  hub.hub.stopping()
  cutOff()
  await eventually('it is logged', () => hub.logged.some(({ message }) => message === 'job failed'))
  expect(hub.logged.filter(({ level }) => level === 'error')).toEqual([])
})

describe('a hub that starts again', () => {
  test('a restarted hub creates ids after the last stored one, also when the clock has stepped back', async () => {
    const clock = fakeClock()
    const signals = createMemorySignalStore(clock)
    const kept = { ...signals, close: async () => undefined }
    hub = await liveHub({ clock, stores: { signals: kept } })
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    const before = await hub.call<{ signal_id: string }>('signals', 'send', { to: 'bob', intent: 'note' })
    await hub.close()
    clock.setBack(3_600_000)
    hub = await liveHub({ clock, stores: { signals: kept } })
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    const after = await hub.call<{ signal_id: string }>('signals', 'send', { to: 'bob', intent: 'note' })
    expect(after.signal_id > before.signal_id).toBe(true)
  })

  test('a restarted hub returns unconfirmed signals to pending', async () => {
    const clock = fakeClock()
    const signals = createMemorySignalStore(clock)
    const kept = { ...signals, close: async () => undefined }
    hub = await liveHub({ clock, stores: { signals: kept } })
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    await hub.call('signals', 'send', { to: 'bob', intent: 'note' })
    await hub.call('signals', 'pending', {}, hub.token('bob'))
    await hub.close()
    hub = await liveHub({ clock, stores: { signals: kept } })
    expect(signals.pendingCount('bob')).toBe(1)
    expect(hub.stores.events.read({ type: 'hub.started', limit: 1 }).events).toMatchObject([
      { data: { released: 1 } },
    ])
  })
})

describe('an address that others can reach', () => {
  test('a public address is rejected without TLS or a proxy', async () => {
    hub = await liveHub()
    await expect(liveHub({ settings: { host: '0.0.0.0' } })).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('a public address behind a proxy is served under its own names only', async () => {
    hub = await liveHub({
      settings: { host: '0.0.0.0', behind_proxy: true, url: 'https://bells.example' },
    })
    expect(hub.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await hub.http('GET', '/health', { token: null })).status).toBe(200)
    expect(hub.hub.api.ownHosts()).toContain('bells.example:443')
  })

  test('a used address is reported as such', async () => {
    hub = await liveHub()
    const port = Number(new URL(hub.url).port)
    await expect(liveHub({ settings: { port, holder: portHolder } })).rejects.toMatchObject({
      code: 'bind_failed',
      detail: expect.stringMatching(`:${port} is in use by .+ \\(process ${process.pid}\\)$`) as string,
    })
  })

  test('a used address is replaced by the next candidate', async () => {
    hub = await liveHub()
    const port = Number(new URL(hub.url).port)
    const other = await liveHub({ settings: { port, other_ports: [port, 0] } })
    expect(Number(new URL(other.url).port)).not.toBe(port)
    await other.close()
  })
})
