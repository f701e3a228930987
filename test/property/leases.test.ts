/** Invariants of a signal's life cycle, in any order of events. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { atRest } from '../support/fakes/fake-clock.ts'
import { playedAnswer, type Fate, type PlayedAnswer } from '../support/fakes/fake-answers.ts'
import { agent, signalWorld, type SignalWorld } from '../support/worlds/signal-world.ts'

type Step =
  | { kind: 'send'; priority: number; short: boolean }
  | { kind: 'drain'; session: number; limit: number; answer: Fate }
  | { kind: 'heard'; which: number; fate: Fate }
  | { kind: 'confirm'; session: number; which: number }
  | { kind: 'ack' | 'release' | 'replay'; which: number }
  | { kind: 'turn'; session: number; turn: 'idle' | 'busy'; seq: number }
  | { kind: 'lost'; session: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'restart' }

const session = fc.integer({ min: 0, max: 2 })
const which = fc.nat(30)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('send' as const), priority: fc.nat(9), short: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('drain' as const),
      session,
      limit: fc.integer({ min: 1, max: 4 }),
      answer: fc.constantFrom<Fate>('received', 'written', 'lost', 'broken', 'never'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('heard' as const),
      which,
      fate: fc.constantFrom<Fate>('received', 'lost', 'broken'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('confirm' as const), session, which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('ack' as const, 'release' as const, 'replay' as const),
      which,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      session,
      turn: fc.constantFrom('idle' as const, 'busy' as const),
      seq: fc.nat(6),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lost' as const), session }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(1_000, 20_000, LIMITS.lease_ms),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
)

/** The real outcome, which only the agents can know. */
interface Truth {
  sent: string[]
  drains: string[]
  /** Responses of this hub that are in transit or whose outcome is unknown. */
  open: { answer: PlayedAnswer; session: number; is_written: boolean; ids: string[] }[]
  /** By session: the last report to this hub. */
  reported: Map<number, { turn: 'idle' | 'busy'; seq: number }>
  /**
   * Signals whose response was received, or whose connection was still open when the turn ended; signals confirmed by
   * name, or acked.
   */
  reached: Set<string>
  drained_as: Map<string, string[]>
}

const bob = (number: number) => agent('bob', `run-${number}`)

async function take(world: SignalWorld, truth: Truth, what: Step): Promise<SignalWorld> {
  const { signals } = world
  const pick = (from: string[], n: number) => from[n % Math.max(1, from.length)]
  switch (what.kind) {
    case 'send': {
      const { signal_id } = await world.send({
        to: 'bob',
        priority: what.priority,
        ttl_s: what.short ? 10 : 86_400,
      })
      truth.sent.push(signal_id)
      return world
    }
    case 'drain': {
      const { answer } = what
      const played = playedAnswer(answer)
      const drained = await world.drain(bob(what.session), { limit: what.limit }, played)
      const ids = drained.signals.map(({ signal_id }) => signal_id)
      if (drained.drain_id !== null) {
        truth.drains.push(drained.drain_id)
        truth.drained_as.set(drained.drain_id, ids)
      }
      if (answer === 'received') for (const id of ids) truth.reached.add(id)
      if (answer === 'written' || answer === 'never') {
        truth.open.push({ answer: played, session: what.session, is_written: answer === 'written', ids })
      }
      await atRest()
      return world
    }
    case 'heard': {
      const [heard] = truth.open.splice(what.which % Math.max(1, truth.open.length), 1)
      if (what.fate === 'received') for (const id of heard?.ids ?? []) truth.reached.add(id)
      heard?.answer.becomes(what.fate)
      await atRest()
      return world
    }
    case 'confirm': {
      const confirm = pick(truth.drains, what.which)
      if (confirm === undefined) return world
      for (const id of truth.drained_as.get(confirm) ?? []) truth.reached.add(id)
      await world.drain(bob(what.session), { confirm, peek: true })
      return world
    }
    case 'ack':
    case 'release':
    case 'replay': {
      const id = pick(truth.sent, what.which)
      if (id === undefined) return world
      if (what.kind === 'ack') truth.reached.add(id)
      if (what.kind === 'ack') await signals.ack(bob(0), { signal_ids: [id] })
      else if (what.kind === 'release') await signals.release(bob(0), { signal_ids: [id] })
      else await signals.replay(bob(0), { signal_ids: [id] })
      return world
    }
    case 'turn':
      if (endsTurn(truth, what)) {
        const held = truth.open.filter(({ session, is_written }) => is_written && session === what.session)
        for (const id of held.flatMap(({ ids }) => ids)) truth.reached.add(id)
      }
      truth.reported.set(what.session, what)
      await signals.turnReported('bob', `run-${what.session}`, what.turn, what.seq)
      return world
    case 'lost':
      await signals.sessionLost('bob', `run-${what.session}`)
      return world
    case 'wait':
      await world.clock.advance(what.ms)
      await signals.sweep()
      return world
    case 'restart':
      truth.open = []
      truth.reported.clear()
      return world.restart()
  }
}

function endsTurn({ reported }: Truth, { session, turn, seq }: Extract<Step, { kind: 'turn' }>): boolean {
  const before = reported.get(session)
  return before !== undefined && (seq > before.seq || (before.turn === 'busy' && turn === 'idle'))
}

async function check(world: SignalWorld, truth: Truth): Promise<void> {
  const leased = world.store.leases().flatMap(({ signal_ids }) => signal_ids)
  expect(new Set(leased).size, 'no signal stands under two live leases').toBe(leased.length)
  let waiting = 0
  for (const id of truth.sent) {
    const signal = await world.store.read(id)
    expect(signal, 'nothing accepted is lost').not.toBeNull()
    if (signal?.status === 'pending') waiting += 1
    if (signal?.status === 'completed' || (signal?.status === 'acked' && !leased.includes(id))) {
      expect(truth.reached.has(id), `${id} is final only if somebody got it`).toBe(true)
    }
    if (leased.includes(id)) expect(signal?.status).toBe('acked')
  }
  expect(world.store.pendingCount('bob')).toBe(waiting)
}

test('no sequence of events loses a signal, leases it twice, or confirms it before the agent has received it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let world = await signalWorld()
      const truth: Truth = {
        sent: [],
        drains: [],
        open: [],
        reported: new Map(),
        reached: new Set(),
        drained_as: new Map(),
      }
      for (const what of steps) {
        world = await take(world, truth, what)
        await check(world, truth)
      }
      // At the end every session is gone and the agent drains until the queue is empty.
      for (const number of [0, 1, 2]) await world.signals.sessionLost('bob', `run-${number}`)
      world = await world.restart()
      while ((await world.drain(bob(9))).signals.length > 0) await atRest()
      await atRest()
      await world.drain(bob(9))
      for (const id of truth.sent) {
        expect(['acked', 'completed', 'expired', 'dead']).toContain((await world.store.read(id))?.status)
      }
      expect(world.store.leases()).toEqual([])
    }),
    { numRuns: 150 },
  )
})
