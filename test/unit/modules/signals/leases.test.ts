import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'
import {
  agent,
  daemon,
  observer,
  OPERATOR,
  signalWorld,
  type SignalWorld,
} from '../../../support/worlds/signal-world.ts'
import { playedAnswer } from '../../../support/fakes/fake-answers.ts'

const BOB = agent('bob', 'run-1')

/** Text that grows the most when markup is sanitized. */
const DENSEST = 'Stop hook error\n'

/** A world where bob, in his third turn, has one drained signal that is not confirmed. */
async function drained(
  turn: { turn: 'idle' | 'busy' | 'unknown'; turn_seq: number } | null = { turn: 'busy', turn_seq: 3 },
): Promise<{ world: SignalWorld; signal_id: string; drain_id: string }> {
  const world = await signalWorld()
  if (turn) await world.signals.turnReported('bob', 'run-1', turn.turn, turn.turn_seq)
  const { signal_id } = await world.send({ to: 'bob' })
  const { drain_id } = await world.drain(BOB)
  await atRest()
  return { world, signal_id, drain_id: drain_id as string }
}

/** The same with a store that confirms only after `goOn`. */
async function confirmingSlowly() {
  let goOn = () => {}
  const slowly = new Promise<void>((resolve) => (goOn = resolve))
  const world = await signalWorld({
    spy: (store) => ({ ...store, confirm: async (...what) => (await slowly, store.confirm(...what)) }),
  })
  await world.send({ to: 'bob' })
  const { drain_id } = await world.drain(BOB)
  await atRest()
  return { world, drain_id: drain_id as string, confirming: { goOn: () => goOn() } }
}

/** True also after a release, where the signal is pending again. */
const confirmed = (world: SignalWorld) => world.store.leases().length === 0
const waits = (world: SignalWorld) => world.store.pendingCount('bob')

describe('a signal for one session', () => {
  test('a signal for one session is free once that session was silent for lease_ms, and only that signal is published as freed', async () => {
    const world = await signalWorld()
    world.signals.sessionSeen('bob', 'run-1')
    const { signal_id } = await world.send({ to: 'bob', to_session: 'run-1' })
    await world.send({ to: 'bob' })
    await world.clock.advance(LIMITS.lease_ms - 1)
    await world.signals.sweep()
    expect(world.toldOf('signals.freed')).toEqual([])
    await world.clock.advance(1)
    await world.signals.sweep()
    await world.signals.sweep()
    expect(world.toldOf('signals.freed')).toEqual([
      { to: 'bob', signal_ids: [signal_id], session_id: 'run-1', pending_count: 2 },
    ])
  })
})

describe('a lease that the store could not confirm', () => {
  test('a lease whose confirm failed is released when the response breaks', async () => {
    let full = false
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        async confirm(drain_id, now) {
          if (full) throw new TurnbellError('store_unavailable', { detail: 'full' })
          return store.confirm(drain_id, now)
        },
      }),
    })
    await world.send({ to: 'bob' })
    const answer = playedAnswer()
    const { drain_id } = await world.drain(BOB, {}, answer)
    full = true
    await expect(world.drain(BOB, { confirm: drain_id as string, peek: true })).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    answer.becomes('broken')
    await atRest()
    expect(waits(world)).toBe(1)
    expect(world.toldOf('signals.released')).toMatchObject([{ cause: 'answer_broken' }])
  })
})

describe('a drain', () => {
  test.each([
    ['a daemon', daemon('bob')],
    ['an observer', observer('bob')],
  ])('a drain by %s is rejected and takes nothing', async (_, caller) => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await expect(world.drain(caller)).rejects.toMatchObject({ code: 'kind_forbidden' })
    expect(waits(world)).toBe(1)
    expect(world.store.leases()).toEqual([])
  })

  test("a drain takes the caller's own queue by priority, then age, and returns how many remain", async () => {
    const world = await signalWorld()
    for (const [payload, priority] of [
      ['a', 3],
      ['b', 9],
      ['c', 3],
      ['d', 0],
    ] as const) {
      await world.send({ to: 'bob', payload, priority })
    }
    await world.send({ to: 'alice', payload: 'not his' }, OPERATOR)
    const first = await world.drain(BOB, { limit: 3 })
    expect(first.signals.map(({ payload }) => payload)).toEqual(['b', 'a', 'c'])
    expect(first.remaining).toBe(1)
    expect(first.signals[0]).toMatchObject({ to: 'bob', from: 'alice', origin: 'agent', deliveries: 1 })
  })

  test('a drain of an empty queue opens no lease', async () => {
    const world = await signalWorld()
    expect(await world.drain(BOB)).toEqual({ signals: [], remaining: 0, drain_id: null })
    expect(world.toldOf('signals.drained')).toEqual([])
  })

  test('a peek changes nothing', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob', payload: 'look' })
    const peeked = await world.drain(BOB, { peek: true })
    expect(peeked).toMatchObject({ remaining: 0, drain_id: null, signals: [{ payload: 'look' }] })
    expect(waits(world)).toBe(1)
    expect(world.store.leases()).toEqual([])
  })

  test('a drain of twelve accumulated signals returns all twelve', async () => {
    const world = await signalWorld()
    for (let payload = 0; payload < 12; payload++) await world.send({ to: 'bob', payload })
    expect((await world.drain(BOB)).signals).toHaveLength(12)
  })

  test('a drain keeps within max_tokens, returns at least one signal, and leases only what it returns', async () => {
    const world = await signalWorld()
    for (let n = 0; n < 5; n++) await world.send({ to: 'bob', payload: 'x'.repeat(2_000) })
    const answer = await world.drain(BOB, { max_tokens: 1_500 })
    expect(answer.signals).toHaveLength(2)
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(1_500 * 4)
    expect(answer.remaining).toBe(3)
    expect((await world.drain(BOB, { max_tokens: 100 })).signals).toHaveLength(1)
    expect((await world.drain(BOB, { max_tokens: 1_500, peek: true })).signals).toHaveLength(2)
  })

  test('a drain never exceeds the size of a frame', async () => {
    const world = await signalWorld()
    for (let n = 0; n < 6; n++) await world.send({ to: 'bob', payload: 'x'.repeat(60_000) })
    const answer = await world.drain(BOB, { limit: 100 })
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LIMITS.frame_bytes_max)
    expect(answer.remaining).toBe(6 - answer.signals.length)
    expect(answer.signals.length).toBeGreaterThan(0)
  })

  test('a drain never exceeds the size of a frame, with any topic and payload', async () => {
    const world = await signalWorld()
    const topic = '€'.repeat(128)
    const payload = DENSEST.repeat(80)
    for (let n = 0; n < 100; n++) await world.send({ to: 'bob', topic, payload })
    for (const peek of [true, false]) {
      const answer = await world.drain(BOB, { limit: 100, peek })
      expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LIMITS.frame_bytes_max)
      expect(answer.signals.length).toBeGreaterThan(1)
      expect(answer.remaining).toBe(100 - answer.signals.length)
    }
  })

  test.each([
    ['a line of a hook', DENSEST],
    ['a tag', '<hook'],
    ['a token', '<|a|>'],
    ['an escaped character', '\u0001'],
  ])('the largest possible signal, full of %s, fits one frame', async (_, piece) => {
    const world = await signalWorld()
    const room = LIMITS.payload_bytes_max - 2
    const payload = piece.repeat(Math.floor(room / (Buffer.byteLength(JSON.stringify(piece)) - 2)))
    const topic = '\u0001'.repeat(128)
    await world.send({ to: 'bob', topic, payload, reply_to: 'alice' })
    const answer = await world.drain(BOB)
    expect(answer.signals).toHaveLength(1)
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LIMITS.drain_bytes_max)
    await world.signals.ack(BOB, { signal_ids: [answer.signals[0]!.signal_id], result: payload })
    const view = await world.signals.read(BOB, answer.signals[0]!.signal_id)
    expect(Buffer.byteLength(JSON.stringify(view))).toBeLessThan(LIMITS.frame_bytes_max)
  })

  test('a drain takes effect at the call, also with max_tokens', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    const draining = world.drain(BOB, { max_tokens: 1_000 })
    expect(waits(world)).toBe(0)
    expect((await draining).signals).toHaveLength(1)
  })

  test.each(['drain', 'peek'] as const)(
    'a %s returns nothing for a persona that was wrapped while it waited',
    async (how) => {
      const { world, drain_id, confirming } = await confirmingSlowly()
      await world.send({ to: 'bob' })
      const draining = world.drain(BOB, { confirm: drain_id, peek: how === 'peek' })
      await world.personas.wrap('bob')
      confirming.goOn()
      await expect(draining).rejects.toMatchObject({ code: 'persona_wrapped' })
      expect(waits(world)).toBe(1)
      expect(world.store.leases()).toEqual([])
      expect(world.toldOf('signals.released')).toEqual([])
    },
  )

  test('two concurrent drains share no signal', async () => {
    const world = await signalWorld()
    for (let n = 0; n < 10; n++) await world.send({ to: 'bob', payload: n })
    const [one, two] = await Promise.all([
      world.drain(agent('bob', 'run-1'), { limit: 6 }),
      world.drain(agent('bob', 'run-2'), { limit: 6 }),
    ])
    const all = [...one.signals, ...two.signals].map(({ signal_id }) => signal_id)
    expect(new Set(all).size).toBe(all.length)
    expect(all).toHaveLength(10)
  })

  test('a drain by an agent without a session leases to the anonymous session of its persona', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.drain(agent('bob'))
    expect(world.store.leases()).toMatchObject([{ session_id: 'anonymous:bob' }])
  })

  test('a drain that fails in the store leaves no lease', async () => {
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        drain: async () => {
          throw new TurnbellError('store_unavailable', { detail: 'disk full' })
        },
      }),
    })
    await world.send({ to: 'bob' })
    await expect(world.drain(BOB)).rejects.toMatchObject({ code: 'store_unavailable' })
    await world.signals.sessionLost('bob', 'run-1')
    expect(world.toldOf('signals.released')).toEqual([])
  })
})

describe('confirmation of a lease', () => {
  test('a lease is confirmed when the turn of its drain ends', async () => {
    const { world, signal_id, drain_id } = await drained({ turn: 'busy', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(confirmed(world)).toBe(true)
    expect(world.toldOf('signals.confirmed')).toMatchObject([
      { to: 'bob', drain_id, signal_ids: [signal_id], waited: [] },
    ])
    expect((await world.store.read(signal_id))?.stages.confirmed_at).not.toBeNull()
  })

  test('a lease is confirmed when a later turn begins', async () => {
    const { world } = await drained({ turn: 'busy', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-1', 'busy', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('a lease of a drain while idle is confirmed only after the next turn ends', async () => {
    const { world } = await drained({ turn: 'idle', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    await world.signals.turnReported('bob', 'run-1', 'busy', 4)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('the first report is the baseline of a lease that was opened before any turn was known', async () => {
    const { world } = await drained(null)
    await world.signals.turnReported('bob', 'run-1', 'busy', 7)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', 7)
    expect(confirmed(world)).toBe(true)
  })

  test.each([
    ['restarts', 1],
    // A shim that starts in the middle of a turn counts from the wall clock.
    ['jumps ahead', 1_764_000_000_000],
  ])('a report becomes the new baseline when the turn counter %s', async (_, turn_seq) => {
    const { world } = await drained({ turn: 'busy', turn_seq: 40 })
    await world.signals.turnReported('bob', 'run-1', 'busy', turn_seq)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', turn_seq)
    expect(confirmed(world)).toBe(true)
  })

  test('turns of another session or another persona do not confirm a lease', async () => {
    const { world } = await drained({ turn: 'busy', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-2', 'idle', 9)
    await world.signals.turnReported('alice', 'run-1', 'idle', 9)
    expect(confirmed(world)).toBe(false)
  })

  test('a turn that ended before the answer left does not confirm a lease', async () => {
    const world = await signalWorld()
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    const answer = playedAnswer()
    await world.drain(BOB, {}, answer)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(confirmed(world)).toBe(false)
    answer.becomes('broken')
    await atRest()
    expect(waits(world)).toBe(1)
  })

  test('the late report that the turn before has ended does not confirm a lease', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ flushInbound: () => heard })
    const turn = (state: 'idle' | 'busy', turn_seq: number) =>
      world.signals.turnReported('bob', 'run-1', state, turn_seq)
    await turn('busy', 3)
    await world.send({ to: 'bob' })
    // Bob has begun his fourth turn, and drains in it.
    await world.drain(BOB)
    await turn('idle', 3)
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    hear(true)
    await atRest()
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  /** Drained in bob's third turn, without a link that reports later turns. */
  const drainedUnheard = async () => {
    const world = await signalWorld({ flushInbound: () => Promise.resolve(false) })
    const turn = (what: 'busy' | 'idle', turn_seq: number) =>
      world.signals.turnReported('bob', 'run-1', what, turn_seq)
    await turn('busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await atRest()
    return { world, turn }
  }

  test("the beginning of the drain's own turn, which no connection could report, does not confirm a lease", async () => {
    const { world, turn } = await drainedUnheard()
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('an end of turn that no connection could report does not confirm a lease, but the end of the next turn does', async () => {
    const { world, turn } = await drainedUnheard()
    await turn('idle', 3)
    await turn('idle', 3)
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('an end of turn reported before the agent may have had its answer does not confirm a lease, but the next one does', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ flushInbound: () => heard })
    const turn = (what: 'busy' | 'idle', turn_seq: number) =>
      world.signals.turnReported('bob', 'run-1', what, turn_seq)
    await turn('busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await turn('idle', 3)
    hear(true)
    await atRest()
    // Repeated with every heartbeat.
    await turn('idle', 3)
    await world.clock.advance(LIMITS.lease_ms - 1)
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('the end of a later turn confirms a lease, even if the beginning of that turn was never reported', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ flushInbound: () => heard })
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    hear(true)
    await atRest()
    await world.signals.turnReported('bob', 'run-1', 'idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('an end of turn reported too early does not confirm a lease, which is released with its session', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ flushInbound: () => heard })
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    hear(true)
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(1)
  })

  test('a confirm that names the drain confirms its lease where turns are not reported', async () => {
    const { world, drain_id } = await drained(null)
    await world.drain(BOB, { confirm: drain_id })
    expect(confirmed(world)).toBe(true)
    await expect(world.drain(BOB, { confirm: drain_id })).resolves.toMatchObject({ signals: [] })
  })

  test('a confirm by another session of the persona does not confirm a lease, also after its release', async () => {
    const { world, drain_id } = await drained(null)
    await world.drain(agent('bob', 'run-2'), { confirm: drain_id, peek: true })
    expect(confirmed(world)).toBe(false)
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(1)
    await world.drain(agent('bob', 'run-2'), { confirm: drain_id, peek: true })
    expect(waits(world)).toBe(1)
    await world.drain(BOB, { confirm: drain_id, peek: true })
    expect(waits(world)).toBe(0)
  })

  test.each([
    ['an agent whose token has no session', agent('bob', 'run-1'), agent('bob')],
    ['a session, of a drain without a session', agent('bob'), agent('bob', 'run-1')],
  ])('a lease is confirmed by a confirm of %s', async (_, drainer, confirmer) => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    const { drain_id } = await world.drain(drainer)
    await atRest()
    await world.drain(confirmer, { confirm: drain_id as string, peek: true })
    expect(confirmed(world)).toBe(true)
  })

  test('a confirm by the agent of another persona does not confirm a lease', async () => {
    const { world, drain_id } = await drained()
    await world.drain(agent('alice'), { confirm: drain_id })
    expect(confirmed(world)).toBe(false)
  })

  test('an ack of its signals ends a lease', async () => {
    const { world, signal_id } = await drained()
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(0)
  })

  test.each([
    ['turns are not reported', null],
    ['the surface is only ever reported as idle', { turn: 'idle', turn_seq: 0 } as const],
    ['the turn is never known', { turn: 'unknown', turn_seq: 0 } as const],
  ])(
    "the session's next drain after a completely written answer confirms a lease where %s",
    async (_, turn) => {
      const { world } = await drained(turn)
      await world.drain(BOB)
      await atRest()
      expect(confirmed(world)).toBe(true)
    },
  )

  test.each([
    ['a confirm', (world: SignalWorld, confirm: string) => world.drain(BOB, { confirm, peek: true })],
    ['the next drain', (world: SignalWorld) => world.drain(BOB)],
  ])('%s in the same turn only sets seen_at, and the end of the turn confirms the lease', async (_, sign) => {
    const { world, signal_id, drain_id } = await drained({ turn: 'busy', turn_seq: 3 })
    const stages = async () => (await world.store.read(signal_id))?.stages
    expect((await stages())?.seen_at).toBeNull()
    await sign(world, drain_id)
    await atRest()
    expect(confirmed(world)).toBe(false)
    expect((await stages())?.seen_at).not.toBeNull()
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(confirmed(world)).toBe(true)
  })

  test.each([
    ['a confirm', (world: SignalWorld, confirm: string) => world.drain(BOB, { confirm, peek: true })],
    ['the next drain', (world: SignalWorld) => world.drain(BOB)],
  ])(
    '%s does not confirm a lease whose turn is reported while the hub flushes its reports',
    async (_, sign) => {
      let hear: (all: boolean) => void = () => undefined
      const heard = new Promise<boolean>((resolve) => (hear = resolve))
      const world = await signalWorld({ flushInbound: () => heard })
      await world.signals.turnReported('bob', 'run-1', 'idle', 3)
      await world.send({ to: 'bob' })
      const { drain_id } = await world.drain(BOB)
      await atRest()
      const done = sign(world, drain_id as string)
      await world.signals.turnReported('bob', 'run-1', 'busy', 4)
      hear(true)
      await done
      await atRest()
      expect(confirmed(world)).toBe(false)
      await world.signals.turnReported('bob', 'run-1', 'idle', 4)
      expect(confirmed(world)).toBe(true)
    },
  )

  test('a confirm after the end of its turn was reported too early confirms the lease', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ flushInbound: () => heard })
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    const { drain_id } = await world.drain(BOB)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    hear(true)
    await atRest()
    expect(confirmed(world)).toBe(false)
    await world.drain(BOB, { peek: true, confirm: drain_id as string })
    expect(confirmed(world)).toBe(true)
  })

  test('the next drain does not confirm a lease whose answer is still being sent', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.drain(BOB, {}, playedAnswer())
    await world.drain(BOB)
    expect(confirmed(world)).toBe(false)
  })

  test('the next drain confirms a lease only once its caller has given a sign of life, in either order', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    const answer = playedAnswer('written')
    await world.drain(BOB, {}, answer)
    await atRest()
    await world.drain(BOB)
    await atRest()
    expect(confirmed(world)).toBe(false)
    answer.becomes('received')
    await atRest()
    expect(confirmed(world)).toBe(true)
  })

  test('the next drain does not confirm a lease whose answer was never read', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    const answer = playedAnswer('written')
    await world.drain(BOB, {}, answer)
    await atRest()
    await world.drain(BOB)
    answer.becomes('lost')
    await atRest()
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })

  test('the end of a turn that is processed together with the end of the connection does not confirm a lease', async () => {
    const world = await signalWorld()
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    const { signal_id } = await world.send({ to: 'bob' })
    const answer = playedAnswer('written')
    await world.drain(BOB, {}, answer)
    await atRest()
    const reported = world.signals.turnReported('bob', 'run-1', 'idle', 3)
    answer.becomes('lost')
    await reported
    expect(waits(world)).toBe(1)
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })

  test('a session lost in the same tick of the loop as the end of its turn keeps its confirmed lease', async () => {
    const world = await signalWorld()
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await atRest()
    const reported = world.signals.turnReported('bob', 'run-1', 'idle', 3)
    await Promise.all([reported, world.signals.sessionLost('bob', 'run-1')])
    expect(confirmed(world)).toBe(true)
    expect(waits(world)).toBe(0)
  })

  test('a late drain that its sender had given up does not confirm a lease', async () => {
    const { world } = await drained()
    await world.drain(BOB, {}, playedAnswer('broken'))
    await atRest()
    expect(confirmed(world)).toBe(false)
  })

  test('a peek or a drain of another session does not confirm a lease', async () => {
    const { world } = await drained()
    await world.drain(BOB, { peek: true })
    await world.drain(agent('bob', 'run-2'))
    expect(confirmed(world)).toBe(false)
  })

  test('the next drain after a restart of the hub does not confirm a lease', async () => {
    const { world, signal_id } = await drained()
    const after = await world.restart()
    const again = await after.drain(BOB)
    expect(again.signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })
})

describe('release of a lease', () => {
  test('a lease is released at once when its answer cannot be written', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.drain(BOB, {}, playedAnswer('broken'))
    await atRest()
    expect(world.toldOf('signals.released')).toMatchObject([
      { to: 'bob', signal_ids: [signal_id], cause: 'answer_broken', pending_count: 1 },
    ])
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })

  test('a lease is released when the hub restarts', async () => {
    const { world, signal_id } = await drained()
    const after = await world.restart()
    expect(after.toldOf('signals.released')).toMatchObject([
      { signal_ids: [signal_id], cause: 'hub_restarted' },
    ])
    expect(waits(after)).toBe(1)
  })

  test('a lease is released when its session is lost', async () => {
    const { world, signal_id } = await drained()
    await world.signals.sessionLost('bob', 'run-2')
    expect(waits(world)).toBe(0)
    await world.signals.sessionLost('bob', 'run-1')
    expect(world.toldOf('signals.released')).toMatchObject([
      { signal_ids: [signal_id], cause: 'session_lost' },
    ])
  })

  test('a lease is released when its session is lost during the drain', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    const draining = world.drain(BOB)
    await world.signals.sessionLost('bob', 'run-1')
    await expect(draining).rejects.toMatchObject({ code: 'binding_stale' })
    expect(waits(world)).toBe(1)
    expect(world.store.leases()).toEqual([])
  })

  test('a lease is released when its session is lost while the confirm that came with the drain is stored', async () => {
    const { world, drain_id, confirming } = await confirmingSlowly()
    await world.send({ to: 'bob' })
    const draining = world.drain(BOB, { confirm: drain_id })
    await world.signals.sessionLost('bob', 'run-1')
    confirming.goOn()
    await expect(draining).rejects.toMatchObject({ code: 'binding_stale' })
    expect(world.store.leases()).toEqual([])
    expect(waits(world)).toBe(1)
  })

  test('a lease is released after lease_ms without a sign of life, and not before', async () => {
    const { world } = await drained()
    await world.clock.advance(LIMITS.lease_ms - 1)
    await world.signals.sweep()
    expect(waits(world)).toBe(0)
    await world.clock.advance(1)
    await world.signals.sweep()
    expect(waits(world)).toBe(1)
    expect(world.toldOf('signals.released')).toMatchObject([{ cause: 'lease_timed_out' }])
  })

  test('a lease is not released while its session shows signs of life', async () => {
    const { world } = await drained()
    for (let n = 0; n < 5; n++) {
      await world.clock.advance(LIMITS.lease_ms - 1)
      world.signals.sessionSeen('bob', 'run-1')
      await world.signals.sweep()
    }
    expect(waits(world)).toBe(0)
  })

  test('a late confirm of a released lease counts if its signals were not drained again', async () => {
    const { world, drain_id, signal_id } = await drained()
    await world.signals.sessionLost('bob', 'run-1')
    await world.drain(BOB, { confirm: drain_id, peek: true })
    expect(waits(world)).toBe(0)
    // The daemon had been notified that it waits again.
    expect(world.toldOf('signals.confirmed')).toEqual([
      {
        to: 'bob',
        drain_id,
        signal_ids: [signal_id],
        waited: [signal_id],
        pending_count: 0,
      },
    ])
  })

  test('a late confirm of a released lease has no effect on signals that another session drained', async () => {
    const { world, drain_id, signal_id } = await drained()
    await world.signals.sessionLost('bob', 'run-1')
    await world.drain(agent('bob', 'run-2'))
    await world.drain(BOB, { confirm: drain_id, peek: true })
    await world.signals.sessionLost('bob', 'run-2')
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 3 }])
  })

  test('a lease is released when its session is lost in the same turn, even after a confirm and a next drain', async () => {
    const { world, drain_id, signal_id } = await drained()
    await world.drain(BOB, { confirm: drain_id })
    await world.drain(BOB)
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(1)
    expect((await world.drain(agent('bob', 'run-2'))).signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })

  test('a confirm after a restart counts at the end of the turn, where the turn is still running', async () => {
    const { world, drain_id, signal_id } = await drained()
    const after = await world.restart()
    await after.signals.turnReported('bob', 'run-1', 'busy', 3)
    await after.drain(BOB, { confirm: drain_id, peek: true })
    await after.signals.sweep()
    expect(waits(after)).toBe(1)
    await after.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(waits(after)).toBe(0)
    expect(after.toldOf('signals.confirmed')).toMatchObject([{ waited: [signal_id] }])
  })

  test('a confirm after a restart has no effect on signals that were drained again in the running turn', async () => {
    const { world, drain_id } = await drained()
    const after = await world.restart()
    await after.signals.turnReported('bob', 'run-1', 'busy', 3)
    await after.drain(BOB, { confirm: drain_id, peek: true })
    await after.drain(agent('bob', 'run-2'))
    await after.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(confirmed(after)).toBe(false)
    expect(after.toldOf('signals.confirmed')).toEqual([])
  })

  test('a confirm after a restart finds the drain it confirms', async () => {
    const { world, drain_id, signal_id } = await drained()
    const after = await world.restart()
    await after.drain(BOB, { confirm: drain_id, peek: true })
    expect(waits(after)).toBe(0)
    expect(after.toldOf('signals.confirmed')).toMatchObject([{ waited: [signal_id] }])
  })

  test('a signal released for the sixth time is dead, is published as dead, and rings no doorbell', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    for (let delivery = 1; delivery <= LIMITS.deliveries_max + 1; delivery++) {
      expect((await world.drain(BOB, {}, playedAnswer('broken'))).signals).toMatchObject([
        { deliveries: delivery },
      ])
      await atRest()
    }
    expect(waits(world)).toBe(0)
    expect((await world.store.read(signal_id))?.status).toBe('dead')
    expect(world.toldOf('signals.released')).toHaveLength(LIMITS.deliveries_max)
    expect(world.toldOf('signals.dead')).toEqual([{ to: 'bob', signal_ids: [signal_id], pending_count: 0 }])
  })

  test('a lease is released only once, whatever else fails', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.drain(BOB, {}, playedAnswer('broken'))
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    await world.clock.advance(LIMITS.lease_ms)
    await world.signals.sweep()
    expect(world.toldOf('signals.released')).toHaveLength(1)
  })
})
