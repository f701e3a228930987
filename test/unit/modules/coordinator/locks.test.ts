import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LockInput } from '../../../../src/contracts/coordination.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { keyOf, overlapping, type Covered } from '../../../../src/modules/coordinator/resources.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { coordinatorWorld } from '../../../support/worlds/coordinator-world.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'
import { agent, OPERATOR } from '../../../support/worlds/signal-world.ts'

const alice = agent('alice', 'run-1')
const bob = agent('bob', 'run-1')
const refusal = (attempt: Promise<unknown>): Promise<TurnbellError | null> =>
  attempt.then(
    () => null,
    (error: unknown) => {
      if (error instanceof TurnbellError) return error
      throw error
    },
  )
const codeOf = async (attempt: Promise<unknown>) => (await refusal(attempt))?.code ?? 'accepted'

describe('a lock', () => {
  test('a lock lasts five minutes by default and shows its holder', async () => {
    const world = await coordinatorWorld()
    expect(await world.lock(alice, 'src/a.ts', { note: 'splitting it' })).toEqual({
      resource: 'src/a.ts',
      scope: 'exact',
      identity: 'alice',
      session_id: 'run-1',
      epoch: 1,
      taken_at: '2026-03-01T12:00:00.000Z',
      ttl_s: 300,
      expires_at: '2026-03-01T12:05:00.000Z',
      note: 'splitting it',
      extended: false,
    })
    expect(world.held()).toEqual(['alice src/a.ts'])
    expect(world.told('lease.')).toEqual([
      {
        type: 'lease.taken',
        agent_id: 'alice',
        data: {
          resource: 'src/a.ts',
          scope: 'exact',
          session_id: 'run-1',
          epoch: 1,
          expires_at: '2026-03-01T12:05:00.000Z',
        },
      },
    ])
  })

  test('a lock held by another session is rejected with the holder, its expiry and the next step', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy', { note: 'release 4' })
    const refused = await refusal(world.lock(bob, 'deploy'))
    expect(refused?.code).toBe('resource_locked')
    expect(refused?.detail).toContain('alice holds "deploy" until 2026-03-01T12:05:00.000Z')
    expect(refused?.detail).toContain('("release 4")')
    expect(refused?.hint).toMatch(/lock again after 2026-.*ask alice/)
  })

  test('locking an own resource again extends the lock under the same epoch and keeps omitted fields', async () => {
    const world = await coordinatorWorld()
    const first = await world.lock(alice, 'src', { scope: 'tree', ttl_s: 60, note: 'moving' })
    await world.clock.advance(30_000)
    expect(await world.lock(alice, 'src')).toEqual({
      ...first,
      expires_at: '2026-03-01T12:01:30.000Z',
      extended: true,
    })
    expect(await world.lock(alice, 'src', { scope: 'exact', ttl_s: 10, note: 'moved' })).toMatchObject({
      epoch: 1,
      scope: 'exact',
      ttl_s: 10,
      note: 'moved',
      extended: true,
      expires_at: '2026-03-01T12:00:40.000Z',
    })
    expect(world.told('lease.')).toHaveLength(1)
  })

  test('a resource is free exactly when its lock expires, also without a sweep', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy', { ttl_s: 10 })
    await world.clock.advance(9_999)
    expect(await codeOf(world.lock(bob, 'deploy'))).toBe('resource_locked')
    await world.clock.advance(1)
    expect(world.held()).toEqual([])
    expect(await world.lock(bob, 'deploy')).toMatchObject({ identity: 'bob', epoch: 2 })
    expect(world.told('lease.').map(({ type, agent_id }) => `${type} ${agent_id}`)).toEqual([
      ...['lease.taken alice', 'lease.expired alice', 'lease.taken bob'],
    ])
  })

  test('the sweep publishes an expired lock once', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy', { ttl_s: 10 })
    await world.clock.advance(10_000)
    await world.coordinator.sweep()
    await world.coordinator.sweep()
    expect(world.told('lease.expired')).toHaveLength(1)
    expect(await world.unlock(alice, 'deploy')).toEqual({ released: false })
  })

  test('a holder that was away learns from its epoch that another session held the resource', async () => {
    const world = await coordinatorWorld()
    const { epoch } = await world.lock(alice, 'deploy', { ttl_s: 10 })
    await world.clock.advance(10_000)
    await world.lock(bob, 'deploy', { ttl_s: 10 })
    expect(await codeOf(world.lock(alice, 'deploy', { epoch }))).toBe('lease_stale')
    expect(await codeOf(world.unlock(alice, 'deploy', { epoch }))).toBe('lease_stale')
    await world.clock.advance(10_000)
    const refused = await refusal(world.lock(alice, 'deploy', { epoch }))
    expect(refused).toMatchObject({ code: 'lease_stale' })
    expect(await world.lock(alice, 'deploy')).toMatchObject({ epoch: 3 })
    expect(await codeOf(world.lock(alice, 'deploy', { epoch: 3 }))).toBe('accepted')
    expect(await codeOf(world.lock(alice, 'deploy', { epoch })), 'though it is hers again').toBe(
      'lease_stale',
    )
  })

  test('a lock with an empty or too long resource name, or with an invalid ttl_s, is rejected', () => {
    const refused = [
      {},
      { resource: '' },
      { resource: ' ' },
      { resource: 'x'.repeat(LIMITS.resource_length_max + 1) },
      { resource: 'x', ttl_s: 0 },
      { resource: 'x', ttl_s: 1.5 },
      { resource: 'x', ttl_s: LIMITS.lock_ttl_s_max + 1 },
      { resource: 'x', scope: 'forest' },
      { resource: 'x', epoch: 0 },
      { resource: 'x', wait: true },
      { resource: 'x', note: '' },
      { resource: 'x', identity: 'bob' },
      { resource: 'x', session_id: 'run-2' },
    ]
    for (const input of refused) expect(LockInput.safeParse(input).success, JSON.stringify(input)).toBe(false)
    expect(LockInput.safeParse({ resource: 'x', wait: false }).success).toBe(true)
    expect(LockInput.parse({ resource: ' deploy ' }).resource).toBe('deploy')
  })

  test('the operator locks under its own name, and a wrapped persona cannot lock', async () => {
    const world = await coordinatorWorld()
    expect(await world.lock(OPERATOR, 'deploy')).toMatchObject({ identity: 'operator' })
    await world.personas.wrap('bob')
    expect(await codeOf(world.lock(bob, 'docs'))).toBe('persona_wrapped')
    expect(await codeOf(world.lock({ ...alice, kind: 'daemon' }, 'docs'))).toBe('kind_forbidden')
  })

  test('a lock beyond the limit is rejected, and an unlock makes room', async () => {
    const records = createMemoryRecordStore()
    const first = await coordinatorWorld({ records })
    await first.lock(alice, 'lock-0', { ttl_s: 1_000 })
    const [row] = await records.list('lease')
    for (let n = 1; n < LIMITS.locks_max; n += 1) {
      const id = `01${String(n).padStart(24, '0')}`
      await records.put('lease', id, { ...row?.body, id, resource: `lock-${n}` })
    }
    const world = await first.restart()
    expect(await codeOf(world.lock(bob, 'one-more'))).toBe('limit_reached')
    expect(await codeOf(world.lock(alice, 'lock-7'))).toBe('accepted')
    await world.unlock(alice, 'lock-7')
    expect(await codeOf(world.lock(bob, 'one-more'))).toBe('accepted')
  })
})

describe('overlap of trees', () => {
  test.each([
    ['src/a', 'tree', 'src/a/b.ts', 'exact'],
    ['src/a/b.ts', 'exact', 'src/a', 'tree'],
    ['src', 'tree', 'src/a', 'tree'],
    ['src/a', 'tree', 'src/a', 'exact'],
    ['src/a/', 'exact', './src//a', 'exact'],
    ['src\\a', 'exact', 'src/a', 'exact'],
    ['.', 'tree', 'src/a', 'exact'],
    ['/', 'tree', '/etc/hosts', 'exact'],
    ['src/x/../a', 'exact', 'src/a', 'exact'],
  ] as const)('%s (%s) and %s (%s) overlap', async (one, scope, other, other_scope) => {
    const world = await coordinatorWorld()
    await world.lock(alice, one, { scope })
    expect(await codeOf(world.lock(bob, other, { scope: other_scope }))).toBe('resource_locked')
    expect(await codeOf(world.lock(alice, other, { scope: other_scope })), 'not in one’s own').toBe(
      'accepted',
    )
  })

  test.each([
    ['src/a', 'exact', 'src/a/b.ts', 'exact'],
    ['src/a', 'exact', 'src/a/b.ts', 'tree'],
    ['src/a', 'tree', 'src/ab', 'exact'],
    ['src/a', 'tree', 'src', 'exact'],
    ['.', 'tree', '/etc', 'exact'],
    ['.', 'tree', '../other', 'exact'],
    ['/', 'tree', 'src', 'exact'],
    ['Src', 'exact', 'src', 'exact'],
  ] as const)('%s (%s) and %s (%s) do not overlap', async (one, scope, other, other_scope) => {
    const world = await coordinatorWorld()
    await world.lock(alice, one, { scope })
    expect(await codeOf(world.lock(bob, other, { scope: other_scope }))).toBe('accepted')
  })

  test('a lock cannot be extended to a tree in which another session holds a lock', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'src')
    await world.lock(bob, 'src/a.ts')
    expect(await codeOf(world.lock(alice, 'src', { scope: 'tree' }))).toBe('resource_locked')
    expect(world.held()).toEqual(['alice src', 'bob src/a.ts'])
  })

  test('overlap is symmetric for all names', () => {
    const names = ['/', '.', '..', 'a', 'a/b', '/a', '../a', '../..', 'a b', '//', 'a/.', 'https://x/y']
    const scopes = ['exact', 'tree'] as const
    const all = names.flatMap((name) => scopes.map((scope) => ({ key: keyOf(name), scope })))
    const meets = (one: Covered, other: Covered) => overlapping(new Map([[one.key, one]]), other).length > 0
    for (const one of all) {
      expect(keyOf(one.key)).toBe(one.key)
      for (const other of all) expect(meets(one, other)).toBe(meets(other, one))
    }
  })
})

describe('an unlock', () => {
  test('an unlock releases the resource and publishes it, and a second one has no effect', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy')
    expect(await world.unlock(alice, './deploy')).toEqual({ released: true })
    expect(await world.unlock(alice, 'deploy')).toEqual({ released: false })
    expect(world.told('lease.released')).toMatchObject([{ agent_id: 'alice', data: { cause: 'asked' } }])
    expect(await codeOf(world.lock(bob, 'deploy'))).toBe('accepted')
  })

  test('only the session that holds a lock may unlock it', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy')
    const refused = await refusal(world.unlock(bob, 'deploy'))
    expect(refused).toMatchObject({ code: 'resource_locked' })
    expect(refused?.detail).toContain('alice holds "deploy"')
    expect(await codeOf(world.unlock(agent('alice', 'run-2'), 'deploy'))).toBe('resource_locked')
    expect(await codeOf(world.unlock(agent('alice'), 'deploy'))).toBe('resource_locked')
    expect(world.held()).toHaveLength(1)
  })

  test('only the operator may unlock by force', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy')
    expect(await codeOf(world.unlock(bob, 'deploy', { force: true }))).toBe('operator_required')
    expect(await codeOf(world.unlock(OPERATOR, 'deploy'))).toBe('resource_locked')
    expect(await world.unlock(OPERATOR, 'deploy', { force: true })).toEqual({ released: true })
    expect(world.told('lease.released')).toMatchObject([{ agent_id: 'alice', data: { cause: 'forced' } }])
  })
})

describe('a lost session', () => {
  test('the loss of a session releases its locks and no others', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'a')
    await world.lock(agent('alice', 'run-2'), 'b')
    await world.lock(bob, 'c')
    await world.coordinator.sessionLost('alice', 'run-1')
    expect(world.held()).toEqual(['alice b', 'bob c'])
    expect(world.told('lease.released')).toMatchObject([{ data: { resource: 'a', cause: 'session_lost' } }])
  })

  test('the next session of a persona may lock what a lost session held', async () => {
    const world = await coordinatorWorld()
    world.registrations.register(alice as { identity: string; session_id: string }, {})
    await world.lock(alice, 'deploy')
    world.registrations.register({ identity: 'alice', session_id: 'run-2' }, {})
    await atRest()
    expect(await codeOf(world.lock(agent('alice', 'run-2'), 'deploy'))).toBe('accepted')
  })

  test('the end of a persona releases the locks of all its sessions', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'a')
    await world.lock(agent('alice'), 'b')
    await world.personas.wrap('alice')
    await atRest()
    expect(world.held()).toEqual([])
    expect(world.told('lease.released')).toMatchObject([
      ...[{ data: { cause: 'persona_ended' } }, { data: { cause: 'persona_ended' } }],
    ])
  })
})

describe("taking over a lock of one's own persona", () => {
  const next = agent('alice', 'run-2')

  test('taking over is rejected without steal_own, and while the former session is registered or gives signs of life', async () => {
    const world = await coordinatorWorld()
    world.registrations.register({ identity: 'alice', session_id: 'run-1' }, {})
    await world.lock(alice, 'deploy', { ttl_s: 3_600 })
    await world.clock.advance(LIMITS.registration_expire_ms + 1)
    const refused = await refusal(world.lock(next, 'deploy', { steal_own: true }))
    expect(refused?.hint).toContain('steal_own: true')
    expect(refused?.code).toBe('resource_locked')
  })

  test('taking over from a silent session without a registration succeeds, and its epoch is stale', async () => {
    const world = await coordinatorWorld()
    const { epoch } = await world.lock(alice, 'deploy', { ttl_s: 3_600 })
    await world.clock.advance(LIMITS.registration_expire_ms)
    expect(await codeOf(world.lock(next, 'deploy', { steal_own: true }))).toBe('resource_locked')
    await world.clock.advance(1)
    expect(await codeOf(world.lock(next, 'deploy'))).toBe('resource_locked')
    expect(await world.lock(next, 'deploy', { steal_own: true })).toMatchObject({ epoch: 2, extended: false })
    expect(world.told('lease.released')).toMatchObject([{ data: { epoch: 1, cause: 'stolen' } }])
    expect(await codeOf(world.unlock(alice, 'deploy', { epoch }))).toBe('lease_stale')
    expect(await codeOf(world.lock(alice, 'deploy', { epoch }))).toBe('lease_stale')
  })

  test('taking over is rejected while the former session gives signs of life by any call', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'deploy', { ttl_s: 3_600 })
    await world.clock.advance(LIMITS.registration_expire_ms)
    world.coordinator.seen(alice)
    await world.clock.advance(LIMITS.registration_expire_ms)
    expect(await codeOf(world.lock(next, 'deploy', { steal_own: true }))).toBe('resource_locked')
  })

  test('taking over never applies to locks of another persona', async () => {
    const world = await coordinatorWorld()
    await world.lock(alice, 'src/a', { ttl_s: 3_600 })
    await world.lock(bob, 'src/b', { ttl_s: 3_600 })
    await world.clock.advance(LIMITS.registration_expire_ms + 1)
    expect(await codeOf(world.lock(next, 'src', { scope: 'tree', steal_own: true }))).toBe('resource_locked')
    expect(world.held(), 'and takes nothing on the way').toEqual(['alice src/a', 'bob src/b'])
  })
})

describe('a restarted hub', () => {
  test('a restarted hub finds the held locks with owner, epoch and expiry', async () => {
    const before = await coordinatorWorld()
    await before.lock(alice, 'src', { scope: 'tree', ttl_s: 60, note: 'moving' })
    await before.lock(bob, 'deploy', { ttl_s: 10 })
    await before.lock(bob, 'docs')
    await before.unlock(bob, 'docs')
    const [src] = before.status().locks
    await before.clock.advance(20_000)
    const world = await before.restart()
    expect(world.status().locks).toEqual([src])
    expect(await codeOf(world.lock(bob, 'src/a.ts'))).toBe('resource_locked')
    expect(await world.lock(alice, 'src', { epoch: 1 })).toMatchObject({ epoch: 1, extended: true })
    expect(await world.lock(bob, 'deploy')).toMatchObject({ epoch: 4 })
    await world.clock.advance(60_000)
    expect(world.held()).toEqual(['bob deploy'])
  })

  test('no epoch is used twice, even after the records of old locks are removed', async () => {
    const before = await coordinatorWorld()
    for (let n = 0; n < 5; n += 1) {
      await before.lock(alice, 'deploy')
      await before.unlock(alice, 'deploy')
    }
    await before.clock.advance(LIMITS.lock_retention_ms)
    await before.coordinator.sweep()
    expect(await before.records.list('lease')).toHaveLength(1)
    const world = await before.restart()
    expect(await world.lock(bob, 'deploy')).toMatchObject({ epoch: 6 })
    await world.coordinator.sweep()
    expect(await world.records.list('lease'), 'the newest says now what the older one did').toHaveLength(1)
  })

  test('taking over is rejected right after a restart, until the former session had time to return', async () => {
    const before = await coordinatorWorld()
    await before.lock(alice, 'deploy', { ttl_s: 3_600 })
    await before.clock.advance(600_000)
    const world = await before.restart()
    const next = agent('alice', 'run-2')
    expect(await codeOf(world.lock(next, 'deploy', { steal_own: true }))).toBe('resource_locked')
    await world.clock.advance(LIMITS.registration_expire_ms + 1)
    expect(await codeOf(world.lock(next, 'deploy', { steal_own: true }))).toBe('accepted')
  })

  test('an invalid lock record is left out, and of two overlapping locks the newer one counts', async () => {
    const records = createMemoryRecordStore()
    const before = await coordinatorWorld({ records })
    await before.lock(alice, 'src/a.ts')
    const [row] = await records.list('lease')
    const older = '01000000000000000000000001'
    const broken = '01000000000000000000000002'
    await records.put('lease', older, {
      ...row?.body,
      id: older,
      resource: 'src',
      covers: 'tree',
      identity: 'bob',
      epoch: 0.5,
    })
    await records.put('lease', broken, {
      ...row?.body,
      id: broken,
      resource: 'src',
      covers: 'tree',
      identity: 'bob',
      epoch: 2,
    })
    const world = await before.restart()
    expect(world.held(), 'the higher epoch counts').toEqual(['bob src'])
    expect(await codeOf(world.lock(alice, 'src/a.ts'))).toBe('resource_locked')
  })
})

describe('a failing store', () => {
  test('a lock changes only if the store has stored the change', async () => {
    const records = createMemoryRecordStore()
    let full = false
    const failing = {
      ...records,
      put: async (...args: Parameters<typeof records.put>) => {
        if (full) throw new TurnbellError('store_unavailable', { detail: 'disk full' })
        return records.put(...args)
      },
    }
    const world = await coordinatorWorld({ records: failing })
    await world.lock(alice, 'a', { ttl_s: 10 })
    full = true
    expect(await codeOf(world.lock(alice, 'b'))).toBe('store_unavailable')
    expect(await codeOf(world.unlock(alice, 'a'))).toBe('store_unavailable')
    expect(world.held()).toEqual(['alice a'])
    expect(world.told('lease.')).toHaveLength(1)
    full = false
    expect(await world.lock(bob, 'b'), 'an epoch that was used is not used again').toMatchObject({ epoch: 3 })
  })
})
