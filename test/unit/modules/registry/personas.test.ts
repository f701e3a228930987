import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { playedPlaces } from '../../../support/fakes/fake-path-inspector.ts'
import { signalWorld } from '../../../support/worlds/signal-world.ts'
import { unsureRecords } from '../../../support/disk/unsure-records.ts'

describe('a persona', () => {
  test('a persona is created once; adding it again changes nothing', async () => {
    const world = await signalWorld({ personas: [] })
    const first = await world.personas.add({ identity: 'bob', surface: 'command' })
    await world.clock.advance(1_000)
    expect(await world.personas.add({ identity: 'bob', surface: 'command' })).toEqual(first)
    expect(world.toldOf('persona.changed')).toHaveLength(1)
  })

  test('a persona is created once by any number of concurrent joins', async () => {
    const world = await signalWorld({ personas: [] })
    const made = await Promise.all([1, 2, 3].map(() => world.personas.ensure('bob', 'command')))
    expect(new Set(made.map(({ created_at }) => created_at)).size).toBe(1)
    expect(world.toldOf('persona.changed')).toHaveLength(1)
  })

  test.each(['operator', 'turnbell'])('a persona cannot be named %s', async (identity) => {
    const world = await signalWorld()
    await expect(world.personas.add({ identity, surface: 'mcp' })).rejects.toMatchObject({
      code: 'params_invalid',
    })
    await expect(world.personas.ensure(identity, 'mcp')).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('a wrapped persona stays wrapped when an agent joins, and across a restart, until it is added again', async () => {
    const world = await signalWorld()
    await world.send({ to: 'bob' })
    await world.personas.wrap('bob')
    await expect(world.personas.ensure('bob', 'command')).rejects.toMatchObject({ code: 'persona_wrapped' })
    const after = await world.restart()
    await expect(after.personas.ensure('bob', 'command')).rejects.toMatchObject({ code: 'persona_wrapped' })
    expect(after.personas.list().find(({ identity }) => identity === 'bob')).toMatchObject({
      state: 'wrapped',
      pending_count: 1,
    })
    expect(await after.personas.add({ identity: 'bob', surface: 'command' })).toMatchObject({
      state: 'active',
    })
    await expect(after.send({ to: 'bob' })).resolves.toBeDefined()
  })

  test('a persona with an uncertain wrap has the last requested state, across a restart', async () => {
    const those = unsureRecords(createMemoryRecordStore())
    const world = await signalWorld({ records: those.records })
    those.unsynced = true
    await expect(world.personas.wrap('bob')).rejects.toMatchObject({ code: 'store_unavailable' })
    those.unsynced = false
    await world.personas.add({ identity: 'bob', surface: 'command' })
    const after = await world.restart()
    expect(after.personas.get('bob')).toMatchObject({ state: 'active' })
  })

  test('a persona with an uncertain creation can be ended by its name, and counts until then', async () => {
    const those = unsureRecords(createMemoryRecordStore())
    const world = await signalWorld({ records: those.records, personas: [] })
    those.unsynced = true
    for (let n = 0; n < LIMITS.personas_max; n += 1) {
      await expect(world.personas.ensure(`p-${n}`, 'command')).rejects.toMatchObject({
        code: 'store_unavailable',
      })
    }
    those.unsynced = false
    await expect(world.personas.ensure('one-more', 'command')).rejects.toMatchObject({
      code: 'limit_reached',
    })
    await world.personas.ensure('p-1', 'command')
    await world.personas.remove('p-0')
    await world.personas.ensure('one-more', 'command')
    const after = await world.restart()
    expect(after.personas.list().find(({ identity }) => identity === 'p-0')).toBeUndefined()
  })

  test('a removed persona disappears from lists and stays known', async () => {
    const world = await signalWorld()
    await world.personas.remove('bob')
    expect(world.personas.list().map(({ identity }) => identity)).toEqual(['alice'])
    expect(world.personas.get('bob')).toMatchObject({ state: 'removed' })
    expect(await world.personas.wrap('bob')).toMatchObject({ state: 'removed' })
  })

  test('an unknown persona cannot be wrapped', async () => {
    const world = await signalWorld()
    await expect(world.personas.wrap('nobody')).rejects.toMatchObject({ code: 'target_unknown' })
  })

  test('a persona wrapped and added concurrently has the state of the last call', async () => {
    const world = await signalWorld()
    await Promise.all([world.personas.wrap('bob'), world.personas.add({ identity: 'bob', surface: 'mcp' })])
    expect(world.personas.get('bob')).toMatchObject({ state: 'active', surface: 'mcp' })
    await Promise.all([world.personas.add({ identity: 'bob', surface: 'mcp' }), world.personas.wrap('bob')])
    expect(world.personas.get('bob')).toMatchObject({ state: 'wrapped' })
  })

  test('a persona beyond the limit is rejected; a removed one makes room', async () => {
    const world = await signalWorld({ personas: [] })
    for (let n = 0; n < LIMITS.personas_max; n++)
      await world.personas.add({ identity: `p${n}`, surface: 'mcp' })
    await expect(world.personas.ensure('late', 'mcp')).rejects.toMatchObject({ code: 'limit_reached' })
    await world.personas.remove('p0')
    await expect(world.personas.ensure('late', 'mcp')).resolves.toMatchObject({ identity: 'late' })
    await expect(world.personas.add({ identity: 'p0', surface: 'mcp' })).rejects.toMatchObject({
      code: 'limit_reached',
    })
    // A wrapped persona already counts towards the limit.
    await world.personas.wrap('p1')
    await expect(world.personas.add({ identity: 'p1', surface: 'mcp' })).resolves.toMatchObject({
      state: 'active',
    })
  })

  test('a persona with an invalid record is skipped, and the others are loaded', async () => {
    const records = createMemoryRecordStore()
    await records.put('persona', 'odd', { identity: 'ODD', state: 'napping' })
    const world = await signalWorld({ records })
    expect(world.personas.list().map(({ identity }) => identity)).toEqual(['alice', 'bob'])
  })

  test('a persona is listed with its agents and daemons counted separately', async () => {
    const world = await signalWorld()
    world.join('bob', 'daemon')
    world.join('bob', 'agent')
    const [, bob] = world.personas.list()
    const kinds = bob?.registrations.map(({ kind }) => kind)
    expect([
      kinds?.filter((kind) => kind === 'agent').length,
      kinds?.filter((kind) => kind === 'daemon').length,
    ]).toEqual([1, 1])
  })
})

describe('a project', () => {
  test('a project exists once per root path, for every spelling of the path and every caller', async () => {
    const world = await signalWorld({ personas: [] })
    const members = await Promise.all(
      ['/srv/app', '/srv/app/', '/srv/./app', '/srv/lib/../app'].map((project, n) =>
        world.personas.add({ identity: `p${n}`, surface: 'mcp', project }),
      ),
    )
    expect(new Set(members.map(({ project_id }) => project_id)).size).toBe(1)
    expect(world.personas.projects()).toMatchObject([{ root: '/srv/app' }])
  })

  test('a project needs an absolute path', async () => {
    const world = await signalWorld()
    await expect(
      world.personas.add({ identity: 'bob', surface: 'mcp', project: 'app' }),
    ).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('a removed project takes its personas along, by id or by path, and stays removed after a restart', async () => {
    const world = await signalWorld()
    await world.personas.add({ identity: 'bob', surface: 'command', project: '/srv/app' })
    world.join('bob', 'daemon')
    expect(await world.personas.removeProject('/srv/app')).toEqual({ removed: ['bob'] })
    expect(world.registrations.rows('bob')).toEqual([])
    expect(await world.personas.removeProject('/srv/app')).toEqual({ removed: [] })
    expect((await world.restart()).personas.projects()).toEqual([])
  })

  test('a persona cannot belong to a project that contains a home', async () => {
    const world = await signalWorld({ personas: [], places: playedPlaces({ homes: ['/home/ada'] }) })
    const add = (project?: string) =>
      world.personas.add({
        identity: 'bob',
        surface: 'command',
        ...(project === undefined ? {} : { project }),
      })
    const made = await add('/home/ada')
    expect(made).not.toHaveProperty('project_id')
    expect(world.personas.projects()).toEqual([])
    expect(await add('/home/ada/')).toEqual(made)
    expect(world.toldOf('persona.changed')).toHaveLength(1)
    const { project_id } = await add('/srv/app')
    expect(await add()).toMatchObject({ project_id })
    // It belongs to the new project and no longer to the other.
    expect(await add('/home/ada')).not.toHaveProperty('project_id')
    expect(await world.personas.removeProject('/srv/app')).toEqual({ removed: [] })
  })
})
