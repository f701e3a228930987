import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/contracts/ids.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import {
  agent,
  daemon,
  observer,
  OPERATOR,
  signalWorld,
  type SignalWorld,
} from '../../../support/worlds/signal-world.ts'
import { playedAnswer } from '../../../support/fakes/fake-answers.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'

const BOB = agent('bob', 'run-1')
const NOWHERE = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

describe('an ack', () => {
  test('an ack completes the signal, stores the result, and can be repeated without effect', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.drain(BOB)
    expect(await world.signals.ack(BOB, { signal_ids: [signal_id], result: { merged: true } })).toEqual({
      completed: [signal_id],
      already: [],
      unknown: [],
      replied: [],
      not_replied: [{ signal_id, reason: 'no_reply_to' }],
    })
    expect(await world.signals.ack(BOB, { signal_ids: [signal_id] })).toEqual({
      completed: [],
      already: [signal_id],
      unknown: [],
      replied: [],
      not_replied: [],
    })
    expect(await world.signals.read(BOB, signal_id)).toMatchObject({
      status: 'completed',
      result: { merged: true },
    })
    expect(world.toldOf('signals.completed')).toHaveLength(1)
  })

  test('an ack reports unknown signals and those of other personas alike', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'alice' }, OPERATOR)
    expect(await world.signals.ack(BOB, { signal_ids: [signal_id, NOWHERE] })).toEqual({
      completed: [],
      already: [],
      unknown: [signal_id, NOWHERE],
      replied: [],
      not_replied: [],
    })
    expect(world.store.pendingCount('alice')).toBe(1)
  })

  test('an ack of a signal that is still pending publishes that it left the queue', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    expect(world.toldOf('signals.completed')).toMatchObject([
      { waited: [signal_id], session_id: 'run-1', by: 'agent', pending_count: 0 },
    ])
  })

  test('an ack of a signal that was released while its reply was stored publishes that it left the queue', async () => {
    let meanwhile = async (): Promise<void> => undefined
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        append: async (signal) => {
          const appended = await store.append(signal)
          await meanwhile()
          return appended
        },
      }),
    })
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await world.drain(BOB)
    meanwhile = () => world.signals.sessionLost('bob', 'run-1')
    await world.signals.ack(BOB, { signal_ids: [signal_id], result: 'done' })
    expect(world.toldOf('signals.released')).toHaveLength(1)
    expect(world.toldOf('signals.completed')).toMatchObject([{ waited: [signal_id], pending_count: 0 }])
  })

  test.each([
    ['a daemon', daemon('bob')],
    ['an observer', observer('bob')],
  ])('an ack, a release and a replay by %s are rejected', async (_, caller) => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    for (const attempt of [
      world.signals.ack(caller, { signal_ids: [signal_id] }),
      world.signals.release(caller, { signal_ids: [signal_id] }),
      world.signals.replay(caller, { signal_ids: [signal_id] }),
    ]) {
      await expect(attempt).rejects.toMatchObject({ code: 'kind_forbidden' })
    }
  })

  test('an ack with a result over the size limit is rejected and completes nothing', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await expect(
      world.signals.ack(BOB, { signal_ids: [signal_id], result: 'x'.repeat(LIMITS.payload_bytes_max) }),
    ).rejects.toMatchObject({ code: 'payload_too_large' })
    const result: Json = JSON.parse(`${'['.repeat(51)}${']'.repeat(51)}`) as Json
    await expect(world.signals.ack(BOB, { signal_ids: [signal_id], result })).rejects.toMatchObject({
      code: 'params_invalid',
    })
    expect(world.store.pendingCount('bob')).toBe(1)
  })
})

describe('a reply', () => {
  test('a reply is sent to the persona in reply_to, with the result and the acked signal', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice', topic: 'ci', priority: 7 })
    await world.drain(BOB)
    await world.signals.ack(BOB, { signal_ids: [signal_id], result: 'green' })
    const { signals } = await world.drain(agent('alice'))
    expect(signals).toMatchObject([
      {
        from: 'bob',
        origin: 'agent',
        intent: 'reply',
        in_reply_to: signal_id,
        payload: 'green',
        topic: 'ci',
        priority: 7,
      },
    ])
  })

  test('a reply without a result carries null', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    expect((await world.drain(agent('alice'))).signals).toMatchObject([{ intent: 'reply', payload: null }])
  })

  test('a reply is stored before its signal is completed, and a crash between the two neither loses nor repeats it', async () => {
    let dies = true
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        complete: async (...told) => {
          if (dies) throw new Error('the process died here')
          return store.complete(...told)
        },
      }),
    })
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await world.drain(BOB)
    const attempt = world.signals.ack(BOB, { signal_ids: [signal_id], result: 1 })
    await expect(attempt).rejects.toThrow('the process died here')
    dies = false
    const after = await world.restart()
    expect((await after.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 2 }])
    await after.signals.ack(BOB, { signal_ids: [signal_id], result: 1 })
    expect(after.store.pendingCount('alice')).toBe(1)
    expect((await after.store.read(signal_id))?.status).toBe('completed')
  })

  test('a reply is sent once, however often the signal is acked', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await Promise.all([1, 2, 3].map(() => world.signals.ack(BOB, { signal_ids: [signal_id] })))
    expect(world.store.pendingCount('alice')).toBe(1)
  })

  test('a reply is sent once when the operator acks at the same moment', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await Promise.all([BOB, OPERATOR].map((caller) => world.signals.ack(caller, { signal_ids: [signal_id] })))
    expect(world.store.pendingCount('alice')).toBe(1)
  })

  test('a replayed signal gets another reply', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await world.signals.ack(BOB, { signal_ids: [signal_id], result: 'first' })
    await world.clock.advance(1)
    await world.signals.replay(OPERATOR, { signal_ids: [signal_id] })
    await world.signals.ack(BOB, { signal_ids: [signal_id], result: 'second' })
    const { signals } = await world.drain(agent('alice'))
    expect(signals.map(({ payload }) => payload)).toEqual(['first', 'second'])
  })

  test('a reply to a wrapped persona is reported as rejected, and the signal completes with its result', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'carol' })
    await world.personas.wrap('carol')
    await world.signals.ack(BOB, { signal_ids: [signal_id], result: 'kept' })
    expect(world.toldOf('signals.replyRefused')).toEqual([
      { signal_id, reply_to: 'carol', code: 'target_wrapped' },
    ])
    expect(await world.store.read(signal_id)).toMatchObject({ status: 'completed', result: 'kept' })
  })

  test('a reply that finds a full queue rejects the whole ack, which can be retried', async () => {
    let full = true
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        pendingCount: (identity) =>
          full && identity === 'alice' ? LIMITS.queue_depth_max : store.pendingCount(identity),
      }),
    })
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
    await expect(world.signals.ack(BOB, { signal_ids: [signal_id] })).rejects.toMatchObject({
      code: 'queue_full',
    })
    expect((await world.store.read(signal_id))?.status).toBe('pending')
    full = false
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    expect(world.store.pendingCount('alice')).toBe(1)
  })
})

describe('an ack', () => {
  /** The failing call of the store, and whether it took effect before. */
  const FAULTS = (['append', 'complete'] as const).flatMap((call) =>
    [false, true].map((took_effect) => ({ call, took_effect })),
  )
  test.each(FAULTS)(
    'an ack interrupted by the store never completes without its reply, and a retry leaves one of each: $call, took effect: $took_effect',
    async ({ call, took_effect }) => {
      let failing = false
      const world = await signalWorld({
        spy: (store) => ({
          ...store,
          async [call](...asked: unknown[]) {
            const method = store[call] as (...asked: unknown[]) => Promise<unknown>
            if (!failing) return method(...asked)
            if (took_effect) await method(...asked)
            throw new TurnbellError('store_unavailable', { detail: 'the disk went away' })
          },
        }),
      })
      const { signal_id } = await world.send({ to: 'bob', reply_to: 'alice' })
      await world.drain(BOB)
      const replies = async () => (await world.store.query({ in_reply_to: signal_id, limit: 10 })).signals
      const status = async () => (await world.store.read(signal_id))?.status
      failing = true
      const ack = { signal_ids: [signal_id], result: 'done' }
      await expect(world.signals.ack(BOB, ack)).rejects.toMatchObject({ code: 'store_unavailable' })
      if ((await status()) === 'completed') expect(await replies()).toHaveLength(1)
      failing = false
      // The hub has restarted, and the agent repeats its ack.
      const after = await world.restart()
      await after.signals.ack(BOB, ack)
      expect(await status()).toBe('completed')
      expect(await replies()).toMatchObject([{ to: 'alice', payload: 'done' }])
    },
  )

  test.each([
    ['queue_full', 'alice'],
    ['payload_too_large', 'alice'],
  ])('an ack rejected with %s stores neither a reply nor a completion', async (code) => {
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        pendingCount: (identity, except) =>
          code === 'queue_full' && identity === 'alice'
            ? LIMITS.queue_depth_max
            : store.pendingCount(identity, except),
      }),
    })
    const sent = [await world.send({ to: 'bob' }), await world.send({ to: 'bob', reply_to: 'alice' })]
    const signal_ids = sent.map(({ signal_id }) => signal_id)
    await world.drain(BOB)
    const result = code === 'payload_too_large' ? 'x'.repeat(LIMITS.payload_bytes_max) : 'done'
    const before = await world.store.query({ limit: 10 })
    await expect(world.signals.ack(BOB, { signal_ids, result })).rejects.toMatchObject({ code })
    expect(await world.store.query({ limit: 10 })).toEqual(before)
    expect(world.toldOf('signals.completed')).toEqual([])
  })
})

describe('release and replay', () => {
  test("a release returns only the caller's own drained signals to pending", async () => {
    const world = await signalWorld()
    const mine = await world.send({ to: 'bob' })
    const theirs = await world.send({ to: 'alice' }, OPERATOR)
    await world.drain(BOB)
    await world.drain(agent('alice'))
    const given = await world.signals.release(BOB, {
      signal_ids: [mine.signal_id, theirs.signal_id, NOWHERE],
    })
    expect(given).toEqual({ released: [mine.signal_id], unknown: [theirs.signal_id, NOWHERE] })
    expect(world.toldOf('signals.released')).toMatchObject([{ to: 'bob', cause: 'asked', pending_count: 1 }])
    expect(world.store.pendingCount('alice')).toBe(0)
  })

  test.each([
    ['a confirm', (world: SignalWorld, confirm: string) => world.drain(BOB, { confirm, peek: true })],
    ['the next drain', (world: SignalWorld) => world.drain(BOB, { limit: 1 })],
    ['a turn boundary', (world: SignalWorld) => world.signals.turnReported('bob', 'run-1', 'busy', 4)],
  ])('%s does not confirm signals that the agent has released', async (name, sign) => {
    const world = await signalWorld()
    const kept = await world.send({ to: 'bob' })
    const given = await world.send({ to: 'bob', priority: 1 })
    if (name === 'a turn boundary') await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    const { drain_id } = await world.drain(BOB)
    await atRest()
    await world.signals.release(BOB, { signal_ids: [given.signal_id] })
    await sign(world, drain_id as string)
    expect(world.toldOf('signals.confirmed')).toMatchObject([
      { to: 'bob', drain_id, signal_ids: [kept.signal_id], waited: [] },
    ])
    const { stages } = await world.signals.read(BOB, given.signal_id)
    expect(stages.confirmed_at).toBeNull()
  })

  test('a release leaves a signal alone that another session drained after the lookup', async () => {
    let meanwhile = async (): Promise<unknown> => undefined
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        read: async (signal_id) => {
          const view = await store.read(signal_id)
          await meanwhile()
          return view
        },
      }),
    })
    const { signal_id } = await world.send({ to: 'bob' })
    await world.drain(BOB)
    meanwhile = async () => {
      await world.signals.sessionLost('bob', 'run-1')
      await world.drain(agent('bob', 'run-2'))
    }
    expect(await world.signals.release(BOB, { signal_ids: [signal_id] })).toEqual({
      released: [],
      unknown: [signal_id],
    })
    expect(world.store.leases()).toMatchObject([{ session_id: 'run-2', signal_ids: [signal_id] }])
  })

  test('a release leaves signals of another named session alone; callers without a session and the operator may release them', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    for (const caller of [agent('bob'), OPERATOR]) {
      await world.drain(BOB)
      const stranger = agent('bob', 'run-2')
      expect(await world.signals.release(stranger, { signal_ids: [signal_id] })).toEqual({
        released: [],
        unknown: [signal_id],
      })
      expect(await world.signals.release(caller, { signal_ids: [signal_id] })).toEqual({
        released: [signal_id],
        unknown: [],
      })
    }
    await world.drain(agent('bob'))
    expect(await world.signals.release(BOB, { signal_ids: [signal_id] })).toMatchObject({ unknown: [] })
  })

  test('a replay of a dead signal resets its lifetime and its deliveries', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', ttl_s: 100 })
    for (let n = 0; n <= LIMITS.deliveries_max; n++) {
      await world.drain(BOB, {}, playedAnswer('broken'))
      await atRest()
    }
    await world.clock.advance(50_000)
    expect(await world.signals.replay(BOB, { signal_ids: [signal_id, NOWHERE] })).toEqual({
      replayed: [signal_id],
      unknown: [NOWHERE],
    })
    const expires_at = new Date(world.clock.now() + 100_000).toISOString()
    expect(await world.store.read(signal_id)).toMatchObject({ status: 'pending', deliveries: 0, expires_at })
    expect(world.toldOf('signals.replayed')).toEqual([
      { to: 'bob', signal_ids: [signal_id], pending_count: 1 },
    ])
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    await world.clock.advance(50_000)
    await world.signals.replay(BOB, { signal_ids: [signal_id] })
    // The original lifetime, however often it is replayed.
    expect(await world.store.read(signal_id)).toMatchObject({
      expires_at: new Date(world.clock.now() + 100_000).toISOString(),
    })
  })

  test('a replay leaves pending signals alone, also in a full queue', async () => {
    let full = false
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        pendingCount: (identity) => (full ? LIMITS.queue_depth_max : store.pendingCount(identity)),
      }),
    })
    const done = await world.send({ to: 'bob' })
    await world.signals.ack(BOB, { signal_ids: [done.signal_id] })
    const leased = await world.send({ to: 'bob' })
    await world.drain(BOB)
    const waiting = await world.send({ to: 'bob' })
    full = true
    const signal_ids = [waiting.signal_id, leased.signal_id]
    expect(await world.signals.replay(BOB, { signal_ids })).toEqual({ replayed: [], unknown: signal_ids })
    await expect(
      world.signals.replay(BOB, { signal_ids: [...signal_ids, done.signal_id] }),
    ).rejects.toMatchObject({ code: 'queue_full' })
  })

  test('a replay to a wrapped persona is rejected', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    await world.personas.wrap('bob')
    await expect(world.signals.replay(OPERATOR, { signal_ids: [signal_id] })).rejects.toBeInstanceOf(
      TurnbellError,
    )
  })
})

describe('expiry', () => {
  test('expiry removes overdue signals, publishes each once, and leaves the others', async () => {
    const world = await signalWorld()
    const short = await world.send({ to: 'bob', ttl_s: 10 })
    await world.send({ to: 'bob', ttl_s: 60 })
    await world.clock.advance(10_000)
    await world.signals.sweep()
    await world.signals.sweep()
    expect(world.toldOf('signals.expired')).toEqual([
      { to: 'bob', signal_ids: [short.signal_id], pending_count: 1 },
    ])
    expect((await world.store.read(short.signal_id))?.status).toBe('expired')
  })

  test('expiry of many signals is published in parts that fit a frame', async () => {
    const world = await signalWorld()
    const count = LIMITS.told_ids_max + 1
    for (let n = 0; n < count; n += 1) await world.send({ to: 'bob', ttl_s: 10 })
    await world.clock.advance(10_000)
    await world.signals.sweep()
    const told = world.toldOf('signals.expired') as { signal_ids: string[]; pending_count: number }[]
    expect(told.map(({ signal_ids }) => signal_ids.length)).toEqual([LIMITS.told_ids_max, 1])
    expect(new Set(told.flatMap(({ signal_ids }) => signal_ids)).size).toBe(count)
    expect(told.map(({ pending_count }) => pending_count)).toEqual([0, 0])
  })

  test('an expired signal is not counted for a doorbell, even before a sweep', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob', ttl_s: 1 })
    await world.clock.advance(1_000)
    expect(world.signals.peek('bob', 10)).toMatchObject({ signals: [], total: 0 })
  })

  test('an expired signal is neither shown nor drained, even before a sweep', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', ttl_s: 1 })
    await world.clock.advance(1_000)
    expect((await world.drain(BOB, { peek: true })).signals).toEqual([])
    expect((await world.drain(BOB)).signals).toEqual([])
    expect((await world.store.read(signal_id))?.status).toBe('expired')
  })

  test('a signal that was drained in time does not expire', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', ttl_s: 10 })
    await world.drain(BOB)
    await world.clock.advance(20_000)
    await world.signals.sweep()
    expect((await world.store.read(signal_id))?.status).toBe('acked')
  })

  test('a sweep during a running sweep joins it', async () => {
    let sweeps = 0
    const world = await signalWorld({
      spy: (store) => ({ ...store, expire: (now) => ((sweeps += 1), store.expire(now)) }),
    })
    await Promise.all([world.signals.sweep(), world.signals.sweep(), world.signals.sweep()])
    expect(sweeps).toBe(1)
  })

  test('a sweep forgets finished signals after their retention', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    await world.clock.advance(LIMITS.finished_retention_ms + LIMITS.compaction_interval_ms)
    await world.signals.sweep()
    await expect(world.signals.read(BOB, signal_id)).rejects.toMatchObject({ code: 'signal_unknown' })
  })

  test('the first sweep of a hub forgets finished signals, so short-lived hubs do so too', async () => {
    let world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    await world.clock.advance(LIMITS.finished_retention_ms + LIMITS.compaction_interval_ms)
    world = await world.restart()
    await world.clock.advance(LIMITS.compaction_interval_ms / 2)
    await world.signals.sweep()
    await expect(world.signals.read(BOB, signal_id)).rejects.toMatchObject({ code: 'signal_unknown' })
  })
})

describe('looking', () => {
  test('an agent reads the signals it sent and received, and no others', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    const { signal_id } = await world.send({ to: 'bob' })
    await expect(world.signals.read(agent('alice'), signal_id)).resolves.toMatchObject({ signal_id })
    await expect(world.signals.read(BOB, signal_id)).resolves.toMatchObject({ signal_id })
    await expect(world.signals.read(agent('carol'), signal_id)).rejects.toMatchObject({
      code: 'signal_unknown',
    })
    await expect(world.signals.read(OPERATOR, signal_id)).resolves.toMatchObject({ signal_id })
  })

  test('an agent reads only its own inbox, and the operator every inbox', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.send({ to: 'alice' }, OPERATOR)
    expect((await world.signals.inbox(BOB, { limit: 10 })).signals).toHaveLength(1)
    await expect(world.signals.inbox(BOB, { to: 'alice', limit: 10 })).rejects.toMatchObject({
      code: 'identity_mismatch',
    })
    expect((await world.signals.inbox(OPERATOR, { limit: 10 })).signals).toHaveLength(2)
    expect((await world.signals.inbox(OPERATOR, { to: 'bob', limit: 10 })).signals).toHaveLength(1)
  })

  test('an inbox page ends before its byte limit', async () => {
    const world = await signalWorld()
    const payload = 'x'.repeat(60_000)
    for (let n = 0; n < 4; n += 1) await world.send({ to: 'bob', payload })
    const { signals, next } = await world.signals.inbox(BOB, { limit: 100 })
    expect(Buffer.byteLength(JSON.stringify(signals))).toBeLessThanOrEqual(LIMITS.inbox_bytes_max + 2)
    expect(next).toBe(signals.at(-1)?.seq)
    expect(next).not.toBeNull()
  })

  test('a daemon may read neither an inbox nor a signal', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', payload: 'secret' })
    await expect(world.signals.read(daemon('bob'), signal_id)).rejects.toMatchObject({
      code: 'kind_forbidden',
    })
    await expect(world.signals.inbox(daemon('bob'), { limit: 1 })).rejects.toMatchObject({
      code: 'kind_forbidden',
    })
    expect(JSON.stringify(world.signals.peek('bob', 10))).not.toContain('secret')
  })

  test("the stages of a doorbell are recorded only on the persona's own signals", async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    const bell = { signal_id, doorbell_id: NOWHERE }
    await world.signals.doorbellReported('alice', { ...bell, stage: 'seen' })
    expect((await world.store.read(signal_id))?.stages.seen_at).toBeNull()
    await world.signals.doorbellReported('bob', { ...bell, stage: 'requested' })
    expect((await world.store.read(signal_id))?.stages.rung_at).toBeNull()
    await world.signals.doorbellReported('bob', { ...bell, stage: 'accepted' })
    await world.clock.advance(1_000)
    await world.signals.doorbellReported('bob', { ...bell, stage: 'seen' })
    const { stages } = await world.signals.read(OPERATOR, signal_id)
    expect([stages.rung_at, stages.seen_at]).toEqual(['2026-03-01T12:00:00.000Z', '2026-03-01T12:00:01.000Z'])
    expect(world.toldOf('signals.rung').map(({ stage }) => stage)).toEqual(['requested', 'accepted', 'seen'])
  })
})

describe('a broadcast', () => {
  test('a broadcast stores one signal for each persona but the sender, under one broadcast id', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol', 'dora'] })
    await world.personas.wrap('dora')
    const { broadcast_id, receipts, refused } = await world.signals.broadcast(agent('alice'), {
      intent: 'note',
      payload: 1,
      priority: 3,
      ttl_s: 60,
    })
    expect(receipts).toHaveLength(2)
    expect(refused).toEqual([])
    const stored = await Promise.all(receipts.map(({ signal_id }) => world.store.read(signal_id)))
    expect(stored.map((signal) => signal?.to)).toEqual(['bob', 'carol'])
    expect(stored.every((signal) => signal?.broadcast_id === broadcast_id)).toBe(true)
  })

  test('a broadcast reports rejected recipients and reaches the others', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    await world.personas.wrap('carol')
    const { receipts, refused } = await world.signals.broadcast(agent('alice'), {
      to: ['bob', 'carol', 'nobody', 'bob'],
      intent: 'note',
      payload: 1,
      priority: 3,
      ttl_s: 60,
    })
    expect(receipts).toHaveLength(1)
    expect(refused.map(({ to, code }) => [to, code])).toEqual([
      ['carol', 'target_wrapped'],
      ['nobody', 'target_unknown'],
    ])
  })

  test('a repeated broadcast with a key is stored once, for all recipients or for none', async () => {
    let calls = 0
    const world = await signalWorld({
      personas: ['alice', 'bob', 'carol'],
      spy: (store) => ({
        ...store,
        append: () => Promise.reject(new Error('one by one')),
        appendAll: async (signals) => {
          if (++calls === 1) throw new Error('the process died here')
          return store.appendAll(signals)
        },
      }),
    })
    const waiting = () => [world.store.pendingCount('bob'), world.store.pendingCount('carol')]
    const input = { intent: 'note', payload: 1, priority: 3, ttl_s: 60, idempotency_key: 'release-4' }
    await expect(world.signals.broadcast(agent('alice'), input)).rejects.toThrow('died')
    expect(waiting()).toEqual([0, 0])
    const second = await world.signals.broadcast(agent('alice'), input)
    const third = await world.signals.broadcast(agent('alice'), input)
    expect(third.receipts.map(({ signal_id }) => signal_id)).toEqual(
      second.receipts.map(({ signal_id }) => signal_id),
    )
    expect(waiting()).toEqual([1, 1])
    expect(world.toldOf('signals.repeated')).toHaveLength(2)
    expect(third.broadcast_id).toBe(second.broadcast_id)
  })

  const keyed = { intent: 'note', payload: 1, priority: 3, ttl_s: 60, idempotency_key: 'release-5' }

  test('a repeated broadcast with a key returns the first receipts and reaches recipients that were added since', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    const first = await world.signals.broadcast(agent('alice'), keyed)
    await world.personas.add({ identity: 'aaron', surface: 'command' })
    const second = await world.signals.broadcast(agent('alice'), keyed)
    expect(second.broadcast_id).toBe(first.broadcast_id)
    expect(second.receipts.map(({ signal_id }) => signal_id).slice(1)).toEqual(
      first.receipts.map(({ signal_id }) => signal_id),
    )
    const newcomer = await world.store.read(second.receipts[0]?.signal_id ?? '')
    expect(newcomer).toMatchObject({ to: 'aaron', broadcast_id: first.broadcast_id })
  })

  test.each(['wrap', 'remove'] as const)(
    'a broadcast with a key that is repeated after a %s of a recipient returns the first receipt',
    async (ending) => {
      const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
      const first = await world.signals.broadcast(agent('alice'), keyed)
      for (const identity of ['bob', 'carol']) await world.personas[ending](identity)
      await world.personas.add({ identity: 'aaron', surface: 'command' })
      const second = await world.signals.broadcast(agent('alice'), keyed)
      expect(second.broadcast_id).toBe(first.broadcast_id)
      const [newcomer] = second.receipts
      expect(await world.store.read(newcomer?.signal_id ?? '')).toMatchObject({ to: 'aaron' })
    },
  )

  test('a repeated broadcast with a key rejects no recipient that has the signal already', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    const input = { ...keyed, to: ['bob', 'carol'] }
    const first = await world.signals.broadcast(agent('alice'), input)
    await world.personas.wrap('bob')
    expect(await world.signals.broadcast(agent('alice'), input)).toEqual(first)
    await world.personas.wrap('carol')
    expect(await world.signals.broadcast(agent('alice'), input)).toEqual(first)
  })

  test('a broadcast by a daemon is rejected', async () => {
    const world = await signalWorld()
    const input = { intent: 'note', payload: 1, priority: 3, ttl_s: 60 }
    await expect(world.signals.broadcast(daemon('alice'), input)).rejects.toMatchObject({
      code: 'kind_forbidden',
    })
  })
})
