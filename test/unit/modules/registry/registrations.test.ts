import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { facts, signalWorld, type SignalWorld } from '../../../support/worlds/signal-world.ts'

/** Returns the events as `joined agent run-1`, `left daemon d-1 expire` or `lost agent run-1 preempt`. */
function story(world: SignalWorld): string[] {
  return world.told.flatMap((one) => {
    const { what } = one
    const about = one.about as Record<string, string>
    const who = `${about['kind']} ${about['session_id']}`
    if (what === 'registry.joined') return [`joined ${who}`]
    if (what === 'registry.left') return [`left ${who} ${about['reason']}`]
    return what === 'link.lost' ? [`lost ${who} ${about['why']}`] : []
  })
}
const rows = (world: SignalWorld) => world.registrations.rows('bob')

describe('a registration', () => {
  test('a registration is unique per identity, surface and kind: an agent and a daemon coexist', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1')
    world.join('bob', 'daemon', 'd-1')
    world.join('bob', 'agent', 'run-9', 'mcp')
    expect(rows(world).map(({ kind, surface, session_id }) => [kind, surface, session_id])).toEqual([
      ['agent', 'command', 'run-1'],
      ['daemon', 'command', 'd-1'],
      ['agent', 'mcp', 'run-9'],
    ])
    expect(story(world)).toEqual(['joined agent run-1', 'joined daemon d-1', 'joined agent run-9'])
  })

  test('a registration taken by another session leaves first, then the newer one joins', async () => {
    const world = await signalWorld()
    const old = world.join('bob', 'agent', 'run-1')
    const fresh = world.join('bob', 'agent', 'run-2')
    expect(story(world)).toEqual([
      'joined agent run-1',
      'left agent run-1 preempt',
      'lost agent run-1 preempt',
      'joined agent run-2',
    ])
    expect(fresh.epoch).toBeGreaterThan(old.epoch)
    expect(rows(world)).toHaveLength(1)
  })

  test('a registration refreshed by the same session stays one binding, and the older link is closed silently', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1')
    await world.clock.advance(5_000)
    world.join('bob', 'agent', 'run-1')
    expect(story(world)).toEqual(['joined agent run-1', 'joined agent run-1', 'lost agent run-1 refresh'])
    expect(rows(world)).toMatchObject([
      { joined_at: '2026-03-01T12:00:00.000Z', last_heartbeat_at: '2026-03-01T12:00:05.000Z' },
    ])
  })

  test('a registration ignores a former client', async () => {
    const world = await signalWorld()
    const old = world.join('bob', 'daemon', 'd-1')
    world.join('bob', 'daemon', 'd-2')
    expect(world.registrations.heartbeat(old, facts('run-1'))).toBe(false)
    world.registrations.close(old)
    expect(rows(world).map(({ session_id }) => session_id)).toEqual(['d-2'])
  })

  test('a registration gets a higher epoch with every join, also when the clock steps back', async () => {
    const world = await signalWorld()
    const epochs = []
    for (const session of ['a', 'b', 'c']) {
      epochs.push(world.join('bob', 'agent', session).epoch)
      world.clock.setBack(60_000)
    }
    expect(epochs).toEqual([...epochs].sort((a, b) => a - b))
    expect(new Set(epochs).size).toBe(3)
  })

  test('a registration expires after thirty seconds of silence, not at thirty', async () => {
    const world = await signalWorld()
    const ticket = world.join('bob', 'daemon', 'd-1')
    await world.clock.advance(10_000)
    world.registrations.heartbeat(ticket)
    await world.clock.advance(LIMITS.registration_expire_ms)
    world.registrations.sweep()
    expect(rows(world)).toHaveLength(1)
    await world.clock.advance(1)
    world.registrations.sweep()
    expect(story(world).slice(1)).toEqual(['left daemon d-1 expire', 'lost daemon d-1 expire'])
    expect(world.registrations.heartbeat(ticket)).toBe(false)
  })

  test('a registration measures its age independently of the wall clock', async () => {
    const world = await signalWorld()
    world.join('bob', 'daemon', 'd-1')
    world.clock.setBack(-3_600_000)
    world.registrations.sweep()
    expect(rows(world)).toHaveLength(1)
  })

  test("a registration of a daemon does not keep an agent's alive, nor the other way round", async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.join('bob', 'agent', 'run-1')
    for (let n = 0; n < 4; n++) {
      await world.clock.advance(10_000)
      world.registrations.heartbeat(daemon, facts('run-1', 'busy', n))
      world.registrations.sweep()
    }
    expect(story(world)).toContain('left agent run-1 expire')
    expect(story(world)).not.toContain('left daemon d-1 expire')
  })

  test.each(['wrap', 'remove'] as const)(
    'a registration ends with reason wrap on %s, and its link receives that reason',
    async (why) => {
      const world = await signalWorld()
      world.join('bob', 'daemon', 'd-1')
      world.join('bob', 'agent', 'run-1')
      await (why === 'wrap' ? world.personas.wrap('bob') : world.personas.remove('bob'))
      expect(story(world).slice(2)).toEqual([
        ...['left daemon d-1 wrap', `lost daemon d-1 ${why}`],
        ...['left agent run-1 wrap', `lost agent run-1 ${why}`],
      ])
      expect(rows(world)).toEqual([])
    },
  )
})

describe('an agent represented by its daemon', () => {
  test('an agent represented by its daemon is registered, refreshed and ended by the surface reports', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1', 'busy', 1))
    world.registrations.heartbeat(daemon, facts('run-1', 'idle', 1))
    expect(rows(world)).toHaveLength(2)
    expect(rows(world)[1]).toMatchObject({ kind: 'agent', session_id: 'run-1', facts: { turn: 'idle' } })
    world.registrations.heartbeat(daemon, facts(null, 'unknown', 0, false))
    expect(story(world).slice(1)).toEqual(['joined agent run-1', 'left agent run-1 close'])
  })

  test('an agent represented by its daemon is preempted when the surface shows another session', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1'))
    world.registrations.heartbeat(daemon, facts('run-2'))
    expect(story(world).slice(1)).toEqual([
      'joined agent run-1',
      'left agent run-1 preempt',
      'joined agent run-2',
    ])
  })

  test('an agent represented by its daemon is not lost with the daemon, but cannot be rung', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1'))
    world.registrations.close(daemon)
    await world.clock.advance(LIMITS.registration_expire_ms * 2)
    world.registrations.sweep()
    expect(rows(world)).toMatchObject([{ kind: 'agent', session_id: 'run-1', connected: false }])
    const again = world.join('bob', 'daemon', 'd-2')
    world.registrations.heartbeat(again, facts('run-1'))
    expect(rows(world).find(({ kind }) => kind === 'agent')).toMatchObject({ connected: true })
    expect(story(world).filter((line) => line.includes('run-1'))).toEqual(['joined agent run-1'])
  })

  test('an agent represented by its daemon is not lost with a daemon that reconnected once and fell silent', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1'))
    world.registrations.close(daemon)
    const again = world.join('bob', 'daemon', 'd-2')
    world.registrations.heartbeat(again, facts('run-1'))
    await world.clock.advance(LIMITS.registration_expire_ms + 1)
    world.registrations.sweep()
    expect(rows(world)).toMatchObject([{ kind: 'agent', session_id: 'run-1', connected: false }])
  })

  test('an agent without its daemon stays registered by its calls', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1'))
    world.registrations.close(daemon)
    for (let n = 0; n < 3; n++) {
      await world.clock.advance(LIMITS.lease_ms / 2)
      world.registrations.seen({ identity: 'bob', session_id: 'run-1' })
      world.registrations.sweep()
    }
    expect(rows(world)).toMatchObject([{ kind: 'agent', session_id: 'run-1' }])
    await world.clock.advance(LIMITS.lease_ms + 1)
    world.registrations.sweep()
    expect(story(world).at(-1)).toBe('left agent run-1 expire')
  })

  test('an agent without its daemon expires after lease_ms', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1'))
    world.registrations.close(daemon)
    await world.clock.advance(LIMITS.lease_ms + 1)
    world.registrations.sweep()
    expect(story(world).at(-1)).toBe('left agent run-1 expire')
  })

  test("a daemon's reports do not affect an agent with its own link", async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1')
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-2'))
    world.registrations.heartbeat(daemon, facts(null, 'unknown', 0, false))
    expect(rows(world).find(({ kind }) => kind === 'agent')).toMatchObject({ session_id: 'run-1' })
    expect(story(world)).toEqual(['joined agent run-1', 'joined daemon d-1'])
  })

  test('an agent represented by its daemon becomes an agent with a link when it joins itself', async () => {
    const world = await signalWorld()
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-1'))
    const own = world.join('bob', 'agent', 'run-1')
    world.registrations.heartbeat(daemon, facts('run-7'))
    expect(rows(world).find(({ kind }) => kind === 'agent')).toMatchObject({ session_id: 'run-1' })
    world.registrations.close(own)
    expect(story(world).at(-1)).toBe('left agent run-1 close')
  })
})

describe('an agent without a link', () => {
  const run_1 = { identity: 'bob', session_id: 'run-1' }
  const run_2 = { identity: 'bob', session_id: 'run-2' }
  const codeOf = (attempt: () => unknown): string => {
    try {
      attempt()
    } catch (error) {
      return error instanceof TurnbellError ? error.code : `bug: ${String(error)}`
    }
    return 'accepted'
  }

  test('an agent without a link is listed once it registers, with its own description', async () => {
    const world = await signalWorld()
    world.registrations.register(run_1, { purpose: 'review', capabilities: ['go'] })
    world.registrations.report(run_1, { note: 'half way', progress: 50 })
    world.registrations.report(run_1, { progress: 60 })
    expect(rows(world)).toMatchObject([
      {
        kind: 'agent',
        surface: 'mcp',
        session_id: 'run-1',
        connected: true,
        notes: { purpose: 'review', capabilities: ['go'], note: 'half way', progress: 60 },
      },
    ])
    expect(story(world)).toEqual(['joined agent run-1'])
  })

  test('an agent without a link cannot be rung, but can be addressed', async () => {
    const world = await signalWorld()
    world.registrations.register(run_1, {})
    const { route } = await world.send({ to: 'bob', to_session: 'run-1' })
    expect(route).toEqual({ live: false, reason: 'no_binding' })
  })

  test('an agent without a link stays registered by its calls as long as its leases, and then expires', async () => {
    const world = await signalWorld()
    world.registrations.register(run_1, {})
    await world.clock.advance(LIMITS.lease_ms)
    world.registrations.seen(run_1)
    world.registrations.seen(run_2)
    await world.clock.advance(LIMITS.lease_ms)
    world.registrations.sweep()
    expect(rows(world)).toHaveLength(1)
    await world.clock.advance(1)
    world.registrations.sweep()
    expect(story(world)).toEqual(['joined agent run-1', 'left agent run-1 expire'])
  })

  test('an agent without a link returns with a heartbeat after the hub has forgotten it', async () => {
    const world = await signalWorld()
    world.registrations.report(run_1, { note: 'still here' })
    expect(rows(world)).toMatchObject([{ session_id: 'run-1', notes: { note: 'still here' } }])
  })

  test('an agent without a link replaces another one by registering, not by a heartbeat', async () => {
    const world = await signalWorld()
    world.registrations.register(run_1, {})
    expect(codeOf(() => world.registrations.report(run_2, {}))).toBe('binding_stale')
    world.registrations.register(run_2, {})
    expect(story(world).slice(1)).toEqual(['left agent run-1 preempt', 'joined agent run-2'])
    expect(codeOf(() => world.registrations.report(run_1, {}))).toBe('binding_stale')
  })

  test("an agent's calls add to the registration of its session, by a link or through its daemon", async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1', 'mcp')
    const daemon = world.join('bob', 'daemon', 'd-1')
    world.registrations.heartbeat(daemon, facts('run-2'))
    world.registrations.register(run_1, { purpose: 'by link' })
    world.registrations.register(run_2, { purpose: 'by daemon' })
    world.join('bob', 'agent', 'run-1', 'mcp')
    world.registrations.heartbeat(daemon, facts('run-2', 'busy', 1))
    const agents = rows(world).filter(({ kind }) => kind === 'agent')
    expect(agents.map(({ session_id, notes }) => [session_id, notes?.purpose])).toEqual([
      ['run-1', 'by link'],
      ['run-2', 'by daemon'],
    ])
  })

  test('an agent without a link does not replace one with a link', async () => {
    const world = await signalWorld()
    world.join('bob', 'agent', 'run-1', 'mcp')
    expect(codeOf(() => world.registrations.register(run_2, {}))).toBe('binding_stale')
    expect(codeOf(() => world.registrations.report(run_2, {}))).toBe('binding_stale')
    expect(story(world)).toEqual(['joined agent run-1'])
  })

  test('an agent without a link is replaced by a link, and by a session that a daemon reports', async () => {
    const world = await signalWorld()
    world.registrations.register(run_1, {})
    world.join('bob', 'agent', 'run-2', 'mcp')
    expect(story(world).slice(1)).toEqual(['left agent run-1 preempt', 'joined agent run-2'])

    const other = await signalWorld()
    other.registrations.register(run_1, {})
    const daemon = other.join('bob', 'daemon', 'd-1', 'mcp')
    other.registrations.heartbeat(daemon, facts('run-1'))
    other.registrations.heartbeat(daemon, facts(null, 'unknown', 0, false))
    expect(story(other).slice(1), 'its own session stays').toEqual(['joined daemon d-1'])
    other.registrations.heartbeat(daemon, facts('run-2'))
    expect(story(other).slice(2)).toEqual(['left agent run-1 preempt', 'joined agent run-2'])
  })

  test('an agent without a link or session adds to the only registration of its persona', async () => {
    const world = await signalWorld()
    const nameless = { identity: 'bob', session_id: 'anonymous:bob' }
    world.join('bob', 'agent', 'run-1', 'mcp')
    const row = world.registrations.register(nameless, { purpose: 'review' })
    expect(row).toMatchObject({ session_id: 'run-1', notes: { purpose: 'review' } })
    expect(rows(world)).toHaveLength(1)
    world.join('bob', 'agent', 'run-2', 'command')
    expect(codeOf(() => world.registrations.report(nameless, {}))).toBe('binding_stale')
  })

  test('an agent without a link ends with its persona', async () => {
    const world = await signalWorld()
    world.registrations.register(run_1, {})
    await world.personas.wrap('bob')
    expect(story(world).slice(1)).toEqual(['left agent run-1 wrap'])
  })
})
