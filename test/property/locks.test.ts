/** Invariants of locks on resources, in any order of events. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LockView } from '../../src/contracts/coordination.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Caller } from '../../src/contracts/token.ts'
import { coordinatorWorld, type CoordinatorWorld } from '../support/worlds/coordinator-world.ts'
import { atRest } from '../support/fakes/fake-clock.ts'
import { agent, OPERATOR } from '../support/worlds/signal-world.ts'

/** Segments of every resource: a child begins with all segments of its parent. */
const RESOURCES = [['src'], ['src', 'a'], ['src', 'a', 'x.ts'], ['src', 'ab'], ['docs']]

const who = fc.constantFrom(
  ...['alice', 'bob', 'cyd'].flatMap((name) => ['run-1', 'run-2'].map((session) => agent(name, session))),
)
const resource = fc.nat(RESOURCES.length - 1)
const lock = fc.record({
  kind: fc.constant('lock' as const),
  who,
  resource,
  scope: fc.constantFrom(undefined, 'exact' as const, 'tree' as const),
  ttl_s: fc.constantFrom(undefined, 5, 60, 3_600),
  steal_own: fc.boolean(),
  /** Whether it sends the last epoch that it received for this resource. */
  with_epoch: fc.boolean(),
})
const unlock = fc.record({ kind: fc.constant('unlock' as const), who, resource, with_epoch: fc.boolean() })
const other = fc.oneof(
  fc.record({ kind: fc.constant('lost' as const), who }),
  fc.record({ kind: fc.constant('register' as const), who }),
  fc.record({ kind: fc.constant('force' as const), resource }),
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1, 5_000, LIMITS.registration_expire_ms + 1, 60_000, LIMITS.lock_retention_ms),
  }),
  fc.record({ kind: fc.constant('set_back' as const), ms: fc.constantFrom(1_000, 120_000) }),
  fc.record({ kind: fc.constantFrom('sweep' as const, 'restart' as const) }),
)
const step = fc.oneof(
  { weight: 6, arbitrary: lock },
  { weight: 2, arbitrary: unlock },
  { weight: 4, arbitrary: other },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** The facts that the agents themselves know. */
interface Truth {
  highest: number
  /** Every lock: its epoch, owner and resource. */
  taken: { epoch: number; owner: string; lock: LockView }[]
  /** The last epoch of each owner and resource. */
  given: Map<string, number>
}

const nameOf = ({ identity, session_id }: Pick<Caller, 'identity' | 'session_id'>) =>
  `${identity} ${session_id}`
const pathOf = (index: number) => (RESOURCES[index] as string[]).join('/')

/** An independent implementation of the module's rule. */
function conflict(
  one: Pick<LockView, 'resource' | 'scope'>,
  two: Pick<LockView, 'resource' | 'scope'>,
): boolean {
  const [a, b] = [one.resource.split('/'), two.resource.split('/')]
  const begins = (long: string[], short: string[]) => short.every((segment, n) => long[n] === segment)
  if (a.length === b.length) return begins(a, b)
  return a.length < b.length ? one.scope === 'tree' && begins(b, a) : two.scope === 'tree' && begins(a, b)
}

async function take(world: CoordinatorWorld, truth: Truth, what: Step): Promise<CoordinatorWorld> {
  switch (what.kind) {
    case 'lock': {
      const at = pathOf(what.resource)
      const epoch = what.with_epoch ? truth.given.get(`${nameOf(what.who)} ${at}`) : undefined
      const { scope, ttl_s, steal_own } = what
      const got = await world.lock(what.who, at, { scope, ttl_s, steal_own, epoch }).catch(refused)
      if (got === null) return world
      if (got.extended) {
        const overtaken = truth.taken.filter(
          (later) =>
            later.epoch > got.epoch && later.owner !== nameOf(what.who) && later.lock.resource === at,
        )
        expect(overtaken, 'who extends has had it all the time').toEqual([])
      } else {
        expect(got.epoch, 'epochs only grow').toBeGreaterThan(truth.highest)
        expect(epoch, 'who shows an epoch never takes anew').toBeUndefined()
        truth.highest = got.epoch
        truth.taken.push({ epoch: got.epoch, owner: nameOf(what.who), lock: got })
      }
      truth.given.set(`${nameOf(what.who)} ${at}`, got.epoch)
      return world
    }
    case 'unlock': {
      const at = pathOf(what.resource)
      const epoch = what.with_epoch ? truth.given.get(`${nameOf(what.who)} ${at}`) : undefined
      const before = world.status().locks.find((held) => held.resource === at)
      const done = await world.unlock(what.who, at, { epoch }).catch(refused)
      if (done?.released === true) expect(nameOf(before as LockView)).toBe(nameOf(what.who))
      return world
    }
    case 'lost':
      await world.coordinator.sessionLost(what.who.identity, what.who.session_id as string)
      expect(world.status().locks.filter((held) => nameOf(held) === nameOf(what.who))).toEqual([])
      return world
    case 'register':
      world.registrations.register(what.who as { identity: string; session_id: string }, {})
      await atRest()
      return world
    case 'force':
      await world.unlock(OPERATOR, pathOf(what.resource), { force: true })
      return world
    case 'wait':
      await world.clock.advance(what.ms)
      return world
    case 'set_back':
      world.clock.setBack(what.ms)
      return world
    case 'sweep':
      world.registrations.sweep()
      await world.coordinator.sweep()
      return world
    case 'restart': {
      const before = world.status().locks
      const again = await world.restart()
      expect(again.status().locks, 'a restart changes nothing').toEqual(before)
      return again
    }
  }
}

function refused(error: unknown): null {
  if (!(error instanceof TurnbellError)) throw error
  expect(['resource_locked', 'lease_stale']).toContain(error.code)
  return null
}

function check(world: CoordinatorWorld): void {
  const { locks } = world.status()
  for (const [n, one] of locks.entries()) {
    expect(Date.parse(one.expires_at)).toBeGreaterThan(world.clock.now())
    for (const two of locks.slice(n + 1)) {
      if (nameOf(one) !== nameOf(two)) expect(conflict(one, two), 'two hold what both cover').toBe(false)
    }
  }
}

test('no two locks conflict, and epochs only increase', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let world = await coordinatorWorld()
      const truth: Truth = { highest: 0, taken: [], given: new Map() }
      for (const what of steps) {
        world = await take(world, truth, what)
        check(world)
      }
    }),
    { numRuns: 250 },
  )
})

test('one of several concurrent calls gets the resource, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(lock, { minLength: 2, maxLength: 8 }), async (locks) => {
      const world = await coordinatorWorld()
      const answers = await Promise.all(
        locks.map(({ who: owner, resource: index, scope }) =>
          world.lock(owner, pathOf(index), { scope }).catch(refused),
        ),
      )
      check(world)
      const epochs = answers.flatMap((got) => (got === null || got.extended ? [] : [got.epoch]))
      expect(new Set(epochs).size).toBe(epochs.length)
      expect(answers[0], 'the first one finds it free').not.toBeNull()
    }),
    { numRuns: 100 },
  )
})
