import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordCall } from '../../../../src/modules/records/record-location.ts'
import { playedPlaces } from '../../../support/fakes/fake-path-inspector.ts'
import { KINDS, recordWorld, type RecordWorld } from '../../../support/worlds/record-world.ts'

let world: RecordWorld
beforeEach(async () => {
  world = await recordWorld()
})

const put = (call: RecordCall, text = 'x') => world.records.put(call, { kind: 'note', record: { text } })
const texts = async (call: RecordCall) => {
  const { records } = await world.records.query(call, { kind: 'note', sort: 'generation' })
  return records.map((record) => record['text'])
}
const kept = async (root: string) => (await world.project(root).list('note')).map(({ body }) => body['text'])

describe('the place of a record', () => {
  test('a record is stored with the hub if no project is named', async () => {
    await put(world.as('ada'))
    expect(await world.hub_records.list('note')).toHaveLength(1)
    expect(await texts(world.as('ada'))).toEqual(['x'])
    expect(await texts(world.as('bob'))).toEqual([])
  })

  test('a record is stored in the project of the caller', async () => {
    await put(world.as('bob'))
    expect(await kept('/projects/bob')).toEqual(['x'])
    expect(await texts(world.as('ada', { scope: '/projects/bob' }))).toEqual(['x'])
    expect(await texts(world.as('ada'))).toEqual([])
  })

  test('a record is stored in the project of the call: by id, by alias, by directory, from inside of it', async () => {
    const { project_id } = await world.projects.add({ path: '/projects/app', aliases: ['app'] })
    const scopes = [
      project_id,
      'app',
      '/projects/app',
      '/projects/app/',
      '/projects/./app',
      '/projects/app/src/auth',
    ]
    for (const scope of scopes) await put(world.as('bob', { scope }), scope)
    expect((await kept('/projects/app')).sort()).toEqual([...scopes].sort())
    expect(await kept('/projects/bob')).toEqual([])
  })

  test('a record is stored in the innermost of two projects that contain the directory', async () => {
    await world.projects.at('/projects/mono')
    await world.projects.at('/projects/mono/packages/a')
    await put(world.as('ada', { scope: '/projects/mono/packages/a/src' }), 'inner')
    await put(world.as('ada', { scope: '/projects/mono/packages' }), 'outer')
    expect(await kept('/projects/mono/packages/a')).toEqual(['inner'])
    expect(await kept('/projects/mono')).toEqual(['outer'])
  })

  test('a record in an unknown directory is stored by the operator only, and registers the project', async () => {
    const unknown = { code: 'project_unknown', detail: 'There is no project "/projects/new".' }
    const agent = world.as('ada', { scope: '/projects/new' })
    await expect(put(agent)).rejects.toMatchObject(unknown)
    await expect(texts(agent)).rejects.toMatchObject(unknown)
    const call = world.as('operator', { scope: '/projects/new' })
    expect(await texts(call)).toEqual([])
    const refused = world.records.put(call, { kind: 'note', record: {} })
    await expect(refused).rejects.toMatchObject({ code: 'params_invalid' })
    const { id } = await put(world.as('ada'))
    const elsewhere = world.records.put(call, { kind: 'note', record: { id, text: 'y' } })
    await expect(elsewhere).rejects.toMatchObject({ code: 'record_unknown' })
    expect(world.projects.find('/projects/new')).toBeNull()
    await put(call)
    expect(world.told().at(-1)?.data['project_id']).toBe(world.projects.get('/projects/new').project_id)
    expect(await kept('/projects/new')).toEqual(['x'])
    expect(await texts(agent)).toEqual(['x'])
  })

  test('a record of a hub kind is stored with the hub, whatever the call names', async () => {
    for (const scope of [null, '/projects/bob', 'portfolio', 'no such project']) {
      await world.records.put(world.as('bob', { scope }), { kind: 'session', record: { project_id: 'p' } })
    }
    expect(await world.hub_records.list('session')).toHaveLength(4)
    const call = world.as('bob', { scope: 'portfolio' })
    const { records } = await world.records.query(call, { kind: 'session' })
    expect(records.map((record) => record['project_id'])).toEqual(['p', 'p', 'p', 'p'])
  })

  test('a record is stored under its own area, which does not affect the project', async () => {
    const record = { text: 'x', scope: '/projects/bob' }
    await world.records.put(world.as('ada'), { kind: 'note', record })
    expect(await kept('/projects/bob')).toEqual([])
    expect((await world.hub_records.list('note'))[0]?.body['scope']).toBe('/projects/bob')
  })
})

describe('a missing project is rejected', () => {
  test.each([
    ['an unknown name', 'apq', /"apq" is neither a known project nor an existing directory/],
    ['a missing directory', '/gone/away', /"\/gone\/away" is neither/],
    ['a relative path', 'work/app', /neither/],
    ['a project whose directory is gone', '/gone/gil', /directory \/gone\/gil .* does not exist/],
  ])('a missing project is rejected: %s', async (_, scope, detail) => {
    const call = world.as('ada', { scope })
    await expect(put(call)).rejects.toMatchObject({ code: 'project_unknown', detail })
    await expect(texts(call)).rejects.toMatchObject({ code: 'project_unknown', detail })
  })

  test("the caller's own missing project is rejected as well", async () => {
    const detail = 'The directory /gone/gil of the project of gil does not exist.'
    await expect(put(world.as('gil'))).rejects.toMatchObject({ code: 'project_unknown', detail })
    expect(await world.hub_records.list('note')).toEqual([])
  })
})

describe('the portfolio', () => {
  const all = () => world.as('ada', { scope: 'portfolio' })

  test('the portfolio contains every known project that exists, and marks the project of each record', async () => {
    await put(world.as('ada'), 'with the hub')
    const inBob = await put(world.as('bob'), 'bob')
    await put(world.as('operator', { scope: '/projects/app' }), 'app')
    const page = await world.records.query(all(), { kind: 'note', sort: 'id', limit: 1 })
    const rest = await world.records.query(all(), { kind: 'note', sort: 'id', after: String(page.next) })
    const project = (root: string) => world.projects.get(root).project_id
    expect([...page.records, ...rest.records]).toMatchObject([
      { text: 'bob', project_id: project('/projects/bob') },
      { text: 'app', project_id: project('/projects/app') },
    ])
    expect([page.total, rest.next]).toEqual([2, null])
    expect(await world.records.get(all(), { kind: 'note', id: inBob.id })).toEqual(inBob)
  })

  test('the portfolio is read-only', async () => {
    const { id } = await put(world.as('bob'))
    const refused = { code: 'portfolio_readonly' }
    await expect(put(all())).rejects.toMatchObject(refused)
    await expect(world.records.close(all(), { kind: 'chore', id })).rejects.toMatchObject(refused)
    const added = world.records.increment(all(), { kind: 'note', id, field: 'weight' })
    await expect(added).rejects.toMatchObject(refused)
  })
})

describe('an unknown directory', () => {
  const operator = (scope: string | null) => world.as('operator', { scope })
  beforeEach(async () => {
    const places = playedPlaces({
      memories: ['/src/clone', '/projects/bob/lib'],
      repositories: ['/src/new'],
      homes: ['/home/ada'],
    })
    world = await recordWorld(Object.values(KINDS), { places })
  })

  test.each([
    ['the memory above it', '/src/clone', ['/src/clone/src/auth', '/src/clone/src', '/src/clone']],
    ['git’s work tree', '/src/new', ['/src/new/packages/a', '/src/new']],
  ])(
    'an unknown directory refers to %s for reads and writes, which is then registered',
    async (_, root, scopes) => {
      await put(operator(scopes[0] ?? ''), 'x')
      expect(world.projects.list().map((project) => project.root)).toContain(root)
      expect(world.projects.list().map((project) => project.root)).not.toContain(scopes[0])
      for (const scope of scopes) expect(await texts(operator(scope))).toEqual(['x'])
      expect(await kept(root)).toEqual(['x'])
    },
  )

  test('an unknown directory is readable without being registered', async () => {
    await put(operator('/src/clone'))
    const { openProject } = world.needs
    const places = playedPlaces({ memories: ['/src/clone'] })
    world = await recordWorld(Object.values(KINDS), { openProject, places })
    expect(await texts(operator('/src/clone/src'))).toEqual(['x'])
    expect(world.projects.find('/src/clone')).toBeNull()
  })

  test('an unknown directory in a known project is open to all, and has a separate memory', async () => {
    expect(await texts(world.as('ada', { scope: '/projects/bob/lib/src' }))).toEqual([])
    expect(world.projects.find('/projects/bob/lib')).toBeNull()
    await put(world.as('ada', { scope: '/projects/bob/lib/src' }), 'inner')
    await put(world.as('ada', { scope: '/projects/bob' }), 'outer')
    expect(await kept('/projects/bob/lib')).toEqual(['inner'])
    expect(await kept('/projects/bob')).toEqual(['outer'])
    expect(world.projects.find('/projects/bob/lib')).not.toBeNull()
  })

  test('an unknown directory with a home is rejected for reads and writes, by any name', async () => {
    const { project_id } = await world.projects.add({ path: '/home/eve', aliases: ['me'] })
    const { hub_records } = world
    // Records of an older hub that did not know of homes.
    const places = playedPlaces({ homes: ['/home/ada', '/home/eve'] })
    world = await recordWorld(Object.values(KINDS), { hub_records, places })
    const detail = /^\/home\/(ada|eve) is not a project: it has a turnbell home/
    for (const scope of ['/home/ada', '/home/ada/', '/home/eve', project_id, 'me']) {
      const refused = { code: 'project_unknown', detail }
      await expect(put(operator(scope)), scope).rejects.toMatchObject(refused)
      await expect(texts(operator(scope)), scope).rejects.toMatchObject(refused)
    }
    for (const scope of ['/home/ada', '/home/eve/code/x'])
      await expect(put(world.as('ada', { scope }))).rejects.toMatchObject({ code: 'project_unknown' })
    expect(world.projects.find('/home/ada')).toBeNull()
    const { records: all } = await world.records.query(world.as('ada', { scope: 'portfolio' }), {
      kind: 'note',
    })
    expect(all).toEqual([])
    await put(operator('/home/eve/code/x'))
    expect(await kept('/home/eve/code/x')).toEqual(['x'])
  })

  test('a former project directory that contains a home leaves its persona the memory of the hub', async () => {
    const places = playedPlaces({ homes: ['/projects/bob'] })
    world = await recordWorld(Object.values(KINDS), { places, hub_records: world.hub_records })
    await put(world.as('bob'), 'with the hub')
    expect(await texts(world.as('ada'))).toEqual(['with the hub'])
  })
})
