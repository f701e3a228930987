import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { SendInput } from '../../../../src/contracts/signal.ts'
import type { SignalStore } from '../../../../src/ports/signal-store.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import {
  agent,
  daemon,
  facts,
  observer,
  OPERATOR,
  signalWorld,
  type SignalWorld,
} from '../../../support/worlds/signal-world.ts'

const BroadcastInput = SendInput.omit({ to: true, to_session: true, require_live: true }).extend({
  to: SendInput.shape.to.array().optional(),
})

const codeOf = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'accepted',
    (error: unknown) => (error instanceof TurnbellError ? error.code : `bug: ${String(error)}`),
  )

describe('a send', () => {
  test("a send returns a receipt with the signal's id, seq and route", async () => {
    const world = await signalWorld()
    const receipt = await world.send({ to: 'bob' })
    expect(receipt).toEqual({
      signal_id: expect.any(String) as string,
      durable: true,
      seq: 1,
      status: 'pending',
      route: { live: false, reason: 'no_binding' },
    })
    expect(world.store.pendingCount('bob')).toBe(1)
  })

  test('a signal is stored before it is pushed', async () => {
    const pushed_when_stored: number[] = []
    const world: SignalWorld = await signalWorld({
      spy: (store) => ({
        ...store,
        append: async (signal) => {
          const appended = await store.append(signal)
          pushed_when_stored.push(world.toldOf('signals.pushed').length)
          return appended
        },
      }),
    })
    await world.send({ to: 'bob' })
    expect(pushed_when_stored).toEqual([0])
    expect(world.toldOf('signals.pushed')).toHaveLength(1)
  })

  test('a send that fails in the store is not pushed, and a signal stored before a crash is still drained', async () => {
    let crash: 'before' | 'after' = 'before'
    const failing = (store: SignalStore): SignalStore => ({
      ...store,
      append: async (signal) => {
        if (crash === 'before') throw new TurnbellError('store_unavailable', { detail: 'disk full' })
        await store.append(signal)
        throw new Error('the process died here')
      },
    })
    const world = await signalWorld({ spy: failing })
    expect(await codeOf(world.send({ to: 'bob' }))).toBe('store_unavailable')
    expect(world.store.pendingCount('bob')).toBe(0)
    crash = 'after'
    await expect(world.send({ to: 'bob', payload: 'kept' })).rejects.toThrow('the process died here')
    expect(world.toldOf('signals.pushed')).toEqual([])
    const after = await world.restart()
    const { signals } = await after.drain(agent('bob'))
    expect(signals.map(({ payload }) => payload)).toEqual(['kept'])
  })

  test('the sender comes from the token and never from a parameter', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' }, agent('alice'))
    expect(await world.store.read(signal_id)).toMatchObject({ from: 'alice', origin: 'agent' })
    expect(await codeOf(world.send({ to: 'bob', from: 'carol' }, agent('alice')))).toBe('identity_mismatch')
    await expect(world.send({ to: 'bob', from: 'alice' }, agent('alice'))).resolves.toBeDefined()
  })

  test('the operator may name another sender, and its signals are marked as human', async () => {
    const world = await signalWorld()
    const plain = await world.send({ to: 'bob' }, OPERATOR)
    const named = await world.send({ to: 'bob', from: 'ci' }, OPERATOR)
    expect(await world.store.read(plain.signal_id)).toMatchObject({ from: 'operator', origin: 'human' })
    expect(await world.store.read(named.signal_id)).toMatchObject({ from: 'ci', origin: 'human' })
  })

  test("an agent's first send creates its persona, so that it can be replied to", async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' }, agent('newcomer'))
    expect(world.personas.get('newcomer')).toMatchObject({ state: 'active' })
  })

  test('signals keep the order of their sends', async () => {
    const world = await signalWorld()
    await Promise.all([1, 2, 3, 4, 5].map((payload) => world.send({ to: 'bob', payload })))
    const { signals } = await world.drain(agent('bob'))
    expect(signals.map(({ payload }) => payload)).toEqual([1, 2, 3, 4, 5])
  })
})

/** Returns a list nested to this depth. */
const nested = (depth: number): Json => (depth === 0 ? 1 : [nested(depth - 1)])

test('a payload of the maximum depth arrives unchanged', async () => {
  const world = await signalWorld()
  const payload = nested(LIMITS.payload_depth_max)
  await world.send({ to: 'bob', payload })
  expect(await world.drain(agent('bob'))).toMatchObject({ signals: [{ payload }] })
})

describe('a rejected send stores nothing', () => {
  test.each([
    ['by a daemon', daemon('alice'), {}, 'kind_forbidden'],
    ['by an observer', observer('alice'), {}, 'kind_forbidden'],
    ['to an unknown persona', agent('alice'), { to: 'nobody' }, 'target_unknown'],
    ['to a wrapped persona', agent('alice'), { to: 'wrapped' }, 'target_wrapped'],
    ['to a removed persona', agent('alice'), { to: 'removed' }, 'target_wrapped'],
    ['by the agent of a wrapped persona', agent('wrapped'), {}, 'persona_wrapped'],
    ['to a session that is not there', agent('alice'), { to_session: 'gone' }, 'target_stale'],
    [
      'that needs a live route where there is none',
      agent('alice'),
      { require_live: true },
      'target_not_routable',
    ],
    [
      'with a payload over 64 KiB',
      agent('alice'),
      { payload: 'x'.repeat(LIMITS.payload_bytes_max) },
      'payload_too_large',
    ],
    [
      'with a payload of too many bytes in few characters',
      agent('alice'),
      { payload: '€'.repeat(22_000) },
      'payload_too_large',
    ],
    [
      'with a payload that is nested too deep for a reader',
      agent('alice'),
      { payload: nested(LIMITS.payload_depth_max + 1) },
      'params_invalid',
    ],
  ] as const)('a send %s is rejected and stores nothing', async (_, caller, input, code) => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'wrapped', 'removed'] })
    await world.personas.wrap('wrapped')
    await world.personas.remove('removed')
    expect(await codeOf(world.send({ to: 'bob', ...input }, caller))).toBe(code)
    expect(world.store.health().signals).toBe(0)
    expect(world.toldOf('signals.pushed')).toEqual([])
  })

  test('a send that requires a live route is rejected with the reason and the time of the last heartbeat', async () => {
    const world = await signalWorld()
    const ticket = world.join('bob', 'daemon')
    world.registrations.heartbeat(ticket, facts(null, 'unknown', 0, false))
    await expect(world.send({ to: 'bob', require_live: true })).rejects.toMatchObject({
      code: 'target_not_routable',
      detail: expect.stringMatching(/surface_absent.*daemon on command.*2026-03-01T12:00:00.000Z/) as string,
    })
  })

  test('a send to a session of a wrapped persona is rejected', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1')
    await expect(world.send({ to: 'bob', to_session: 'run-1' })).resolves.toBeDefined()
    await world.personas.wrap('bob')
    expect(await codeOf(world.send({ to: 'bob', to_session: 'run-1' }))).toBe('target_wrapped')
  })

  test('concurrent sends never exceed the queue limit', async () => {
    const world = await signalWorld({
      // Every row of the memory store costs a search, but the limit is under test, not the store.
      spy: (store) => ({
        ...store,
        pendingCount: (to) => store.pendingCount(to) + LIMITS.queue_depth_max - 3,
      }),
    })
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => codeOf(world.send({ to: 'bob' }))))
    expect(outcomes).toEqual(['accepted', 'accepted', 'accepted', 'queue_full', 'queue_full'])
  })
})

describe('an idempotency key', () => {
  test('a repeated send with an idempotency key returns the first receipt and pushes once', async () => {
    const world = await signalWorld()
    const first = await world.send({ to: 'bob', idempotency_key: 'deploy-1' })
    const second = await world.send({ to: 'bob', idempotency_key: 'deploy-1' })
    expect(second).toEqual(first)
    expect(world.toldOf('signals.pushed')).toHaveLength(1)
    expect(world.store.pendingCount('bob')).toBe(1)
  })

  test('an idempotency key of another request is rejected, also after a restart, and nothing is stored', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    await world.send({ to: 'bob', idempotency_key: 'k', payload: 'first' })
    for (const hub of [world, await world.restart()]) {
      for (const other of [
        { to: 'bob', payload: 'second' },
        { to: 'carol', payload: 'first' },
        { to: 'nobody', payload: 'first' },
        { to: 'bob', payload: 'first', intent: 'other' },
      ]) {
        await expect(hub.send({ ...other, idempotency_key: 'k' })).rejects.toMatchObject({
          code: 'idempotency_key_reused',
        })
      }
      expect(hub.store.health().signals).toBe(1)
    }
  })

  test('two concurrent sends with one idempotency key store one signal', async () => {
    const world = await signalWorld()
    const [first, second] = await Promise.all([
      world.send({ to: 'bob', idempotency_key: 'k' }),
      world.send({ to: 'bob', idempotency_key: 'k' }),
    ])
    expect(second.signal_id).toBe(first.signal_id)
    expect(world.store.pendingCount('bob')).toBe(1)
  })

  test('an idempotency key belongs to its sender, and another sender may use the same text', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    await world.send({ to: 'bob', idempotency_key: 'k' }, agent('alice'))
    await world.send({ to: 'bob', idempotency_key: 'k' }, agent('carol'))
    expect(world.store.pendingCount('bob')).toBe(2)
  })

  test('a known idempotency key returns its first receipt after the persona was wrapped', async () => {
    const world = await signalWorld()
    const first = await world.send({ to: 'bob', idempotency_key: 'k' })
    await world.personas.wrap('bob')
    expect(await world.send({ to: 'bob', idempotency_key: 'k' })).toMatchObject({
      signal_id: first.signal_id,
      seq: first.seq,
    })
  })

  test('an idempotency key is remembered for 24 hours, also across a restart', async () => {
    const world = await signalWorld()
    const first = await world.send({ to: 'bob', idempotency_key: 'k' })
    await world.clock.advance(LIMITS.idempotency_window_ms - 1)
    const again = await world.restart()
    expect((await again.send({ to: 'bob', idempotency_key: 'k' })).signal_id).toBe(first.signal_id)
    await world.clock.advance(1)
    expect((await again.send({ to: 'bob', idempotency_key: 'k' })).signal_id).not.toBe(first.signal_id)
  })
})

describe('an idempotency key whose day ends while it is looked up', () => {
  test('an idempotency key that expires during the send is either known or unknown to every check', async () => {
    const clock = fakeClock()
    let reads = 0
    // Each read of the clock takes one millisecond.
    const now = () => clock.now() + (reads += 1)
    const world = await signalWorld({ clock: { ...clock, now } })
    const first = await world.send({ to: 'bob', idempotency_key: 'k' })
    await world.personas.wrap('bob')
    const created_at = Date.parse((await world.store.read(first.signal_id))?.stages.created_at as string)
    for (let early_ms = 0; early_ms < 6; early_ms += 1) {
      const last = created_at + LIMITS.idempotency_window_ms - 1
      reads = 0
      clock.setBack(clock.now() - (last - early_ms))
      const answer = await codeOf(world.send({ to: 'bob', idempotency_key: 'k' }))
      expect(['accepted', 'target_wrapped']).toContain(answer)
      expect(world.store.health().signals).toBe(1)
    }
  })
})

describe('the route of a receipt', () => {
  test('a route is live while a daemon with an attached surface sends heartbeats', async () => {
    const world = await signalWorld()
    const ticket = world.join('bob', 'daemon')
    world.registrations.heartbeat(ticket, facts('run-1'))
    expect((await world.send({ to: 'bob', require_live: true })).route).toEqual({ live: true, reason: null })
  })

  test('a route is live while an agent has a connection of its own', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent')
    expect((await world.send({ to: 'bob' })).route).toEqual({ live: true, reason: null })
  })

  test.each([
    ['no_binding', 'nobody ever joined', async (_: SignalWorld): Promise<void> => undefined],
    [
      'surface_absent',
      'the daemon is there and its surface is not',
      async (world: SignalWorld): Promise<void> =>
        void world.registrations.heartbeat(world.join('bob', 'daemon'), facts(null, 'unknown', 0, false)),
    ],
    [
      'surface_absent',
      'no window shows the session',
      async (world: SignalWorld): Promise<void> =>
        void world.registrations.heartbeat(world.join('bob', 'daemon'), { ...facts('run-1'), window: false }),
    ],
    [
      'daemon_down',
      'the daemon left',
      async (world: SignalWorld) => {
        const ticket = world.join('bob', 'daemon')
        world.registrations.heartbeat(ticket, facts('run-1'))
        world.registrations.close(ticket)
      },
    ],
    [
      'stale',
      'the daemon fell silent and the sweep has not come by yet',
      async (world: SignalWorld) => {
        world.registrations.heartbeat(world.join('bob', 'daemon'), facts('run-1'))
        await world.clock.advance(LIMITS.registration_expire_ms + 1)
      },
    ],
    [
      'stale',
      'the daemon fell silent and was swept',
      async (world: SignalWorld) => {
        world.registrations.heartbeat(world.join('bob', 'daemon'), facts('run-1'))
        await world.clock.advance(LIMITS.registration_expire_ms + 1)
        world.registrations.sweep()
      },
    ],
  ] as const)('a route reports %s when %s', async (reason, _, arrange) => {
    const world = await signalWorld()
    await arrange(world)
    expect((await world.send({ to: 'bob' })).route).toEqual({ live: false, reason })
  })
})

describe('a signal for one session', () => {
  test('a signal for one session is not drained by another session while the first is present', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1')
    await world.send({ to: 'bob', to_session: 'run-1', payload: 'yours' })
    await world.send({ to: 'bob', payload: 'anybody' })
    const other = await world.drain(agent('bob', 'run-2'))
    expect(other.signals.map(({ payload }) => payload)).toEqual(['anybody'])
    expect(other.remaining).toBe(0)
    const own = await world.drain(agent('bob', 'run-1'))
    expect(own.signals.map(({ payload }) => payload)).toEqual(['yours'])
  })

  test('a signal for one session is drained by any session once the first is gone', async () => {
    const world = await signalWorld()
    const ticket = world.join('bob', 'agent', 'run-1')
    await world.send({ to: 'bob', to_session: 'run-1', payload: 'yours' })
    world.registrations.close(ticket)
    await world.signals.sessionLost('bob', 'run-1')
    const other = await world.drain(agent('bob', 'run-2'))
    expect(other.signals.map(({ payload }) => payload)).toEqual(['yours'])
  })

  test('a signal for one session does not count for a daemon whose surface has another session', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1', 'mcp')
    await world.send({ to: 'bob', to_session: 'run-1' })
    expect(world.signals.peek('bob', 10, 'run-2')).toMatchObject({ signals: [], total: 0 })
    expect(world.signals.peek('bob', 10, 'run-1').total).toBe(1)
    expect(world.signals.peek('bob', 10).total).toBe(1)
  })
})

describe('a broadcast', () => {
  const cast = (world: SignalWorld, input: object, caller = agent('alice')) =>
    world.signals.broadcast(caller, BroadcastInput.parse({ intent: 'note', ...input }))
  const waiting = (world: SignalWorld) =>
    ['alice', 'bob', 'cyd', 'dan'].filter((identity) => world.store.pendingCount(identity) > 0)
  const personas = ['alice', 'bob', 'cyd', 'dan']

  test('a broadcast on a topic reaches its subscribers, but not its sender', async () => {
    const world = await signalWorld({ personas, subscribers: { releases: ['alice', 'cyd'] } })
    const { receipts, refused } = await cast(world, { topic: 'releases' })
    expect(receipts).toHaveLength(1)
    expect(refused).toEqual([])
    expect(waiting(world)).toEqual(['cyd'])
  })

  test('a broadcast on a topic without subscribers has no receivers and is not an error', async () => {
    const world = await signalWorld({ personas })
    expect(await cast(world, { topic: 'releases' })).toMatchObject({ receipts: [], refused: [] })
    expect(waiting(world)).toEqual([])
  })

  test('a broadcast with recipients ignores its topic, and one without either reaches every other persona', async () => {
    const world = await signalWorld({ personas, subscribers: { releases: ['cyd'] } })
    await cast(world, { to: ['dan'], topic: 'releases' })
    expect(waiting(world)).toEqual(['dan'])
    await cast(world, {})
    expect(waiting(world)).toEqual(['bob', 'cyd', 'dan'])
  })

  test('a broadcast larger than one write may carry is rejected and stores nothing', async () => {
    const crowd = Array.from({ length: 1_025 }, (_, place) => `p${place}`)
    const world = await signalWorld({ personas: ['alice', ...crowd] })
    // As JSON it is two bytes longer.
    const payload = 'x'.repeat(LIMITS.payload_bytes_max - 2)
    expect(await codeOf(cast(world, { payload }))).toBe('payload_too_large')
    const deep = nested(LIMITS.payload_depth_max + 1)
    expect(await codeOf(cast(world, { payload: deep, to: ['p1'] }))).toBe('params_invalid')
    expect(world.store.health().signals).toBe(0)
    const { receipts } = await cast(world, { payload, to: crowd.slice(1) })
    expect(receipts).toHaveLength(1_024)
  })
})
