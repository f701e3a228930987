import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits.ts'
import { atRest } from '../../../support/fake-clock.ts'
import {
  agent,
  BROKEN,
  daemon,
  observer,
  OPERATOR,
  signalWorld,
  type SignalWorld,
} from '../../../support/signal-world.ts'

const BOB = agent('bob', 'run-1')

/** What grows most when it is made harmless: a client's shortest line, to which the most is added. */
const DENSEST = 'Stop hook error\n'

/** Bob, who is in his third turn, has one signal that is drained and not confirmed. */
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

/** The same, and the store takes its time to confirm. */
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

/** Or taken back; then it waits again. */
const confirmed = (world: SignalWorld) => world.store.leases().length === 0
const waits = (world: SignalWorld) => world.store.pendingCount('bob')

describe('a signal for one session', () => {
  test('is free once nothing was heard of that session for long, and only it is told', async () => {
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
  test('stands: an answer that broke still takes it back', async () => {
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
    let settle: (how: 'written' | 'broken') => void = () => undefined
    const { drain_id } = await world.drain(BOB, {}, new Promise((resolve) => (settle = resolve)))
    full = true
    await expect(world.drain(BOB, { confirm: drain_id as string, peek: true })).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    settle('broken')
    await atRest()
    expect(waits(world)).toBe(1)
    expect(world.toldOf('signals.released')).toMatchObject([{ cause: 'answer_broken' }])
  })
})

describe('a drain', () => {
  test.each([
    ['a daemon', daemon('bob')],
    ['an observer', observer('bob')],
  ])('by %s is refused and takes nothing', async (_, caller) => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await expect(world.drain(caller)).rejects.toMatchObject({ code: 'kind_forbidden' })
    expect(waits(world)).toBe(1)
    expect(world.store.leases()).toEqual([])
  })

  test("takes the caller's own queue, highest priority first, then oldest, and says what is left", async () => {
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

  test('that finds nothing leases nothing', async () => {
    const world = await signalWorld()
    expect(await world.drain(BOB)).toEqual({ signals: [], remaining: 0, drain_id: null })
    expect(world.toldOf('signals.drained')).toEqual([])
  })

  test('that only peeks changes nothing', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob', payload: 'look' })
    const peeked = await world.drain(BOB, { peek: true })
    expect(peeked).toMatchObject({ remaining: 0, drain_id: null, signals: [{ payload: 'look' }] })
    expect(waits(world)).toBe(1)
    expect(world.store.leases()).toEqual([])
  })

  test('of twelve signals that gathered returns all twelve', async () => {
    const world = await signalWorld()
    for (let payload = 0; payload < 12; payload++) await world.send({ to: 'bob', payload })
    expect((await world.drain(BOB)).signals).toHaveLength(12)
  })

  test('keeps within max_tokens, gives at least one, and leases only what it gives', async () => {
    const world = await signalWorld()
    for (let n = 0; n < 5; n++) await world.send({ to: 'bob', payload: 'x'.repeat(2_000) })
    const answer = await world.drain(BOB, { max_tokens: 1_500 })
    expect(answer.signals).toHaveLength(2)
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(1_500 * 4)
    expect(answer.remaining).toBe(3)
    expect((await world.drain(BOB, { max_tokens: 100 })).signals).toHaveLength(1)
    expect((await world.drain(BOB, { max_tokens: 1_500, peek: true })).signals).toHaveLength(2)
  })

  test('never grows past what a frame carries', async () => {
    const world = await signalWorld()
    for (let n = 0; n < 6; n++) await world.send({ to: 'bob', payload: 'x'.repeat(60_000) })
    const answer = await world.drain(BOB, { limit: 100 })
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LIMITS.frame_bytes_max)
    expect(answer.remaining).toBe(6 - answer.signals.length)
    expect(answer.signals.length).toBeGreaterThan(0)
  })

  test('never grows past what a frame carries, however much is made harmless in what it shows', async () => {
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
    ['what is escaped', '\u0001'],
  ])('hands out the largest signal there can be, full of %s, in one frame', async (_, piece) => {
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

  test('takes at the call, also where it keeps within max_tokens', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    const draining = world.drain(BOB, { max_tokens: 1_000 })
    expect(waits(world)).toBe(0)
    expect((await draining).signals).toHaveLength(1)
  })

  test.each(['drain', 'peek'] as const)(
    'gives nothing to a persona that was wrapped while it waited: a %s',
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

  test('by two at the same moment shares no signal', async () => {
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

  test('of an agent that names no session leases to one of its persona', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.drain(agent('bob'))
    expect(world.store.leases()).toMatchObject([{ session_id: 'anonymous:bob' }])
  })

  test('that the store refuses leaves no lease behind', async () => {
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

describe('a tentative ack becomes final', () => {
  test('when the turn it was drained in has ended', async () => {
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

  test('when a later turn has begun', async () => {
    const { world } = await drained({ turn: 'busy', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-1', 'busy', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('not before the next turn has ended, when it was drained while idle was reported', async () => {
    const { world } = await drained({ turn: 'idle', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    await world.signals.turnReported('bob', 'run-1', 'busy', 4)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('by the first report as a baseline, when no turn was known yet', async () => {
    const { world } = await drained(null)
    await world.signals.turnReported('bob', 'run-1', 'busy', 7)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', 7)
    expect(confirmed(world)).toBe(true)
  })

  test.each([
    ['began anew', 1],
    // A shim that comes in the middle of a turn counts from the clock on the wall.
    ['goes on from further on', 1_764_000_000_000],
  ])('from a new baseline, when the turn counter %s', async (_, turn_seq) => {
    const { world } = await drained({ turn: 'busy', turn_seq: 40 })
    await world.signals.turnReported('bob', 'run-1', 'busy', turn_seq)
    expect(confirmed(world)).toBe(false)
    await world.signals.turnReported('bob', 'run-1', 'idle', turn_seq)
    expect(confirmed(world)).toBe(true)
  })

  test("not by another session's turns, nor by another persona's", async () => {
    const { world } = await drained({ turn: 'busy', turn_seq: 3 })
    await world.signals.turnReported('bob', 'run-2', 'idle', 9)
    await world.signals.turnReported('alice', 'run-1', 'idle', 9)
    expect(confirmed(world)).toBe(false)
  })

  test('not by a turn that ended before the answer had left', async () => {
    const world = await signalWorld()
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    let settle: (how: 'written' | 'broken') => void = () => undefined
    await world.drain(BOB, {}, new Promise((resolve) => (settle = resolve)))
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(confirmed(world)).toBe(false)
    settle('broken')
    await atRest()
    expect(waits(world)).toBe(1)
  })

  test('not by the end of the turn before, which was reported late', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ caughtUp: () => heard })
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

  /** In Bob's third turn, without a link that could tell how it goes on. */
  const drainedUnheard = async () => {
    const world = await signalWorld({ caughtUp: () => Promise.resolve(false) })
    const turn = (what: 'busy' | 'idle', turn_seq: number) =>
      world.signals.turnReported('bob', 'run-1', what, turn_seq)
    await turn('busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await atRest()
    return { world, turn }
  }

  test('not by the beginning of the turn it was drained in, which no link could report', async () => {
    const { world, turn } = await drainedUnheard()
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('not by an end that came and went while no link could report it, but by that of the next turn', async () => {
    const { world, turn } = await drainedUnheard()
    await turn('idle', 3)
    await turn('idle', 3)
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('not by an end that may have been said before the agent had its answer, but by that of the next turn', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ caughtUp: () => heard })
    const turn = (what: 'busy' | 'idle', turn_seq: number) =>
      world.signals.turnReported('bob', 'run-1', what, turn_seq)
    await turn('busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await turn('idle', 3)
    hear(true)
    await atRest()
    // Said again with every heartbeat.
    await turn('idle', 3)
    await world.clock.advance(LIMITS.lease_ms - 1)
    await turn('busy', 4)
    expect(confirmed(world)).toBe(false)
    await turn('idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('by the end of a later turn of which no beginning was heard', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ caughtUp: () => heard })
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    hear(true)
    await atRest()
    await world.signals.turnReported('bob', 'run-1', 'idle', 4)
    expect(confirmed(world)).toBe(true)
  })

  test('not by such an end where the session is lost before another: it goes back', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ caughtUp: () => heard })
    await world.signals.turnReported('bob', 'run-1', 'busy', 3)
    await world.send({ to: 'bob' })
    await world.drain(BOB)
    await world.signals.turnReported('bob', 'run-1', 'idle', 3)
    hear(true)
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(1)
  })

  test('by a confirm that names its drain, where nobody reports turns', async () => {
    const { world, drain_id } = await drained(null)
    await world.drain(BOB, { confirm: drain_id })
    expect(confirmed(world)).toBe(true)
    await expect(world.drain(BOB, { confirm: drain_id })).resolves.toMatchObject({ signals: [] })
  })

  test("not by a confirm of another persona's agent", async () => {
    const { world, drain_id } = await drained()
    await world.drain(agent('alice'), { confirm: drain_id })
    expect(confirmed(world)).toBe(false)
  })

  test('by an ack of its signals', async () => {
    const { world, signal_id } = await drained()
    await world.signals.ack(BOB, { signal_ids: [signal_id] })
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(0)
  })

  test.each([
    ['nobody reports turns', null],
    ['the surface is only ever reported as idle', { turn: 'idle', turn_seq: 0 } as const],
    ['the turn is never known', { turn: 'unknown', turn_seq: 0 } as const],
  ])("by the session's next drain after a completely written answer, where %s", async (_, turn) => {
    const { world } = await drained(turn)
    await world.drain(BOB)
    await atRest()
    expect(confirmed(world)).toBe(true)
  })

  test.each([
    ['a confirm', (world: SignalWorld, confirm: string) => world.drain(BOB, { confirm, peek: true })],
    ['the next drain', (world: SignalWorld) => world.drain(BOB)],
  ])('not by %s in the same turn, which only sets seen_at', async (_, sign) => {
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
  ])('not by %s whose turn is reported while the hub waits for it', async (_, sign) => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ caughtUp: () => heard })
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
  })

  test('by a confirm after the end of its turn was reported too early to count', async () => {
    let hear: (all: boolean) => void = () => undefined
    const heard = new Promise<boolean>((resolve) => (hear = resolve))
    const world = await signalWorld({ caughtUp: () => heard })
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

  test('not by the next drain while the former answer is still on its way', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.drain(BOB, {}, new Promise(() => undefined))
    await world.drain(BOB)
    expect(confirmed(world)).toBe(false)
  })

  test('not by a drain that its sender had given up, which arrived late', async () => {
    const { world } = await drained()
    await world.drain(BOB, {}, BROKEN)
    await atRest()
    expect(confirmed(world)).toBe(false)
  })

  test('not by a peek, nor by the drain of another session', async () => {
    const { world } = await drained()
    await world.drain(BOB, { peek: true })
    await world.drain(agent('bob', 'run-2'))
    expect(confirmed(world)).toBe(false)
  })

  test('not by the next drain after a restart: the hub cannot know what the agent got', async () => {
    const { world, signal_id } = await drained()
    const after = await world.restart()
    const again = await after.drain(BOB)
    expect(again.signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })
})

describe('a tentative ack is taken back', () => {
  test('when the answer could not be written, at once', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.drain(BOB, {}, BROKEN)
    await atRest()
    expect(world.toldOf('signals.released')).toMatchObject([
      { to: 'bob', signal_ids: [signal_id], cause: 'answer_broken', pending_count: 1 },
    ])
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })

  test('when the hub restarts', async () => {
    const { world, signal_id } = await drained()
    const after = await world.restart()
    expect(after.toldOf('signals.released')).toMatchObject([
      { signal_ids: [signal_id], cause: 'hub_restarted' },
    ])
    expect(waits(after)).toBe(1)
  })

  test('when its session is lost', async () => {
    const { world, signal_id } = await drained()
    await world.signals.sessionLost('bob', 'run-2')
    expect(waits(world)).toBe(0)
    await world.signals.sessionLost('bob', 'run-1')
    expect(world.toldOf('signals.released')).toMatchObject([
      { signal_ids: [signal_id], cause: 'session_lost' },
    ])
  })

  test('when its session is lost while the store still drains', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    const draining = world.drain(BOB)
    await world.signals.sessionLost('bob', 'run-1')
    await expect(draining).rejects.toMatchObject({ code: 'binding_stale' })
    expect(waits(world)).toBe(1)
    expect(world.store.leases()).toEqual([])
  })

  test('when its session is lost while a confirmation that came with its drain is kept', async () => {
    const { world, drain_id, confirming } = await confirmingSlowly()
    await world.send({ to: 'bob' })
    const draining = world.drain(BOB, { confirm: drain_id })
    await world.signals.sessionLost('bob', 'run-1')
    confirming.goOn()
    await expect(draining).rejects.toMatchObject({ code: 'binding_stale' })
    expect(world.store.leases()).toEqual([])
    expect(waits(world)).toBe(1)
  })

  test('when lease_ms pass without a sign of life, and not a moment earlier', async () => {
    const { world } = await drained()
    await world.clock.advance(LIMITS.lease_ms - 1)
    await world.signals.sweep()
    expect(waits(world)).toBe(0)
    await world.clock.advance(1)
    await world.signals.sweep()
    expect(waits(world)).toBe(1)
    expect(world.toldOf('signals.released')).toMatchObject([{ cause: 'lease_timed_out' }])
  })

  test('not while the session shows signs of life', async () => {
    const { world } = await drained()
    for (let n = 0; n < 5; n++) {
      await world.clock.advance(LIMITS.lease_ms - 1)
      world.signals.sessionSeen('bob', 'run-1')
      await world.signals.sweep()
    }
    expect(waits(world)).toBe(0)
  })

  test('and a confirm that comes late still counts, as long as nobody drained it again', async () => {
    const { world, drain_id, signal_id } = await drained()
    await world.signals.sessionLost('bob', 'run-1')
    await world.drain(BOB, { confirm: drain_id, peek: true })
    expect(waits(world)).toBe(0)
    // Whoever rings had been told that it waits again.
    expect(world.toldOf('signals.confirmed')).toEqual([
      {
        ...{ to: 'bob', drain_id, signal_ids: [signal_id] },
        ...{ waited: [signal_id], pending_count: 0 },
      },
    ])
  })

  test('and a confirm that comes after somebody else drained it changes nothing', async () => {
    const { world, drain_id, signal_id } = await drained()
    await world.signals.sessionLost('bob', 'run-1')
    await world.drain(agent('bob', 'run-2'))
    await world.drain(BOB, { confirm: drain_id, peek: true })
    await world.signals.sessionLost('bob', 'run-2')
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id, deliveries: 3 }])
  })

  test('when its session is lost in the same turn, although the agent has confirmed and drained again', async () => {
    const { world, drain_id, signal_id } = await drained()
    await world.drain(BOB, { confirm: drain_id })
    await world.drain(BOB)
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    expect(waits(world)).toBe(1)
    expect((await world.drain(agent('bob', 'run-2'))).signals).toMatchObject([{ signal_id, deliveries: 2 }])
  })

  test('and a confirm after a restart counts with the end of the turn, where that goes on', async () => {
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

  test('and a confirm after a restart changes nothing for what was drained again, where the turn goes on', async () => {
    const { world, drain_id } = await drained()
    const after = await world.restart()
    await after.signals.turnReported('bob', 'run-1', 'busy', 3)
    await after.drain(BOB, { confirm: drain_id, peek: true })
    await after.drain(agent('bob', 'run-2'))
    await after.signals.turnReported('bob', 'run-1', 'idle', 3)
    expect(confirmed(after)).toBe(false)
    expect(after.toldOf('signals.confirmed')).toEqual([])
  })

  test('and a confirm after a restart still finds what it confirms', async () => {
    const { world, drain_id, signal_id } = await drained()
    const after = await world.restart()
    await after.drain(BOB, { confirm: drain_id, peek: true })
    expect(waits(after)).toBe(0)
    expect(after.toldOf('signals.confirmed')).toMatchObject([{ waited: [signal_id] }])
  })

  test('and after the sixth time it is dead, told as such, and rings nobody', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    for (let delivery = 1; delivery <= LIMITS.deliveries_max + 1; delivery++) {
      expect((await world.drain(BOB, {}, BROKEN)).signals).toMatchObject([{ deliveries: delivery }])
      await atRest()
    }
    expect(waits(world)).toBe(0)
    expect((await world.store.read(signal_id))?.status).toBe('dead')
    expect(world.toldOf('signals.released')).toHaveLength(LIMITS.deliveries_max)
    expect(world.toldOf('signals.dead')).toEqual([{ to: 'bob', signal_ids: [signal_id], pending_count: 0 }])
  })

  test('only once, whatever else goes wrong for it', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.drain(BOB, {}, BROKEN)
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    await world.clock.advance(LIMITS.lease_ms)
    await world.signals.sweep()
    expect(world.toldOf('signals.released')).toHaveLength(1)
  })
})
