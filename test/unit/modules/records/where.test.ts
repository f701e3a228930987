import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordCall } from '../../../../src/modules/records/where.ts'
import { playedPlaces } from '../../../support/played-places.ts'
import { KINDS, recordWorld, type RecordWorld } from '../../../support/record-world.ts'

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

describe('a record is kept', () => {
  test('with the hub, where nobody named a project', async () => {
    await put(world.as('ada'))
    expect(await world.home.list('note')).toHaveLength(1)
    expect(await texts(world.as('ada'))).toEqual(['x'])
    expect(await texts(world.as('bob'))).toEqual([])
  })

  test('in the project of who calls', async () => {
    await put(world.as('bob'))
    expect(await kept('/projects/bob')).toEqual(['x'])
    expect(await texts(world.as('ada', { scope: '/projects/bob' }))).toEqual(['x'])
    expect(await texts(world.as('ada'))).toEqual([])
  })

  test('in the project that the call names: by id, by alias, by directory, from inside of it', async () => {
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

  test('in the innermost of two projects that hold the directory', async () => {
    await world.projects.at('/projects/mono')
    await world.projects.at('/projects/mono/packages/a')
    await put(world.as('ada', { scope: '/projects/mono/packages/a/src' }), 'inner')
    await put(world.as('ada', { scope: '/projects/mono/packages' }), 'outer')
    expect(await kept('/projects/mono/packages/a')).toEqual(['inner'])
    expect(await kept('/projects/mono')).toEqual(['outer'])
  })

  test('in a directory that nobody knew by the operator alone, and it is a project from then on', async () => {
    const unknown = { code: 'project_unknown', detail: 'The hub knows no project "/projects/new".' }
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

  test('with the hub whatever the call names, where its kind belongs to the hub', async () => {
    for (const scope of [null, '/projects/bob', 'portfolio', 'no such project']) {
      await world.records.put(world.as('bob', { scope }), { kind: 'session', record: { project_id: 'p' } })
    }
    expect(await world.home.list('session')).toHaveLength(4)
    const call = world.as('bob', { scope: 'portfolio' })
    const { records } = await world.records.query(call, { kind: 'session' })
    expect(records.map((record) => record['project_id'])).toEqual(['p', 'p', 'p', 'p'])
  })

  test('under its own area, which says nothing of the project', async () => {
    const record = { text: 'x', scope: '/projects/bob' }
    await world.records.put(world.as('ada'), { kind: 'note', record })
    expect(await kept('/projects/bob')).toEqual([])
    expect((await world.home.list('note'))[0]?.body['scope']).toBe('/projects/bob')
  })
})

describe('a project that is not there is refused', () => {
  test.each([
    ['a name nobody knows', 'apq', /"apq" is neither a known project nor an existing directory/],
    ['a directory that is not there', '/gone/away', /"\/gone\/away" is neither/],
    ['a directory that is not absolute', 'work/app', /neither/],
    ['a project whose directory is gone', '/gone/gil', /in \/gone\/gil, and there is no such directory/],
  ])('%s', async (_, scope, detail) => {
    const call = world.as('ada', { scope })
    await expect(put(call)).rejects.toMatchObject({ code: 'project_unknown', detail })
    await expect(texts(call)).rejects.toMatchObject({ code: 'project_unknown', detail })
  })

  test('also where it is the caller’s own', async () => {
    const detail = 'The project of gil is in /gone/gil, and there is no such directory.'
    await expect(put(world.as('gil'))).rejects.toMatchObject({ code: 'project_unknown', detail })
    expect(await world.home.list('note')).toEqual([])
  })
})

describe('the portfolio', () => {
  const all = () => world.as('ada', { scope: 'portfolio' })

  test('reads every known project that is there, and says of each record whose it is', async () => {
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

  test('takes no writes', async () => {
    const { id } = await put(world.as('bob'))
    const refused = { code: 'portfolio_readonly' }
    await expect(put(all())).rejects.toMatchObject(refused)
    await expect(world.records.close(all(), { kind: 'chore', id })).rejects.toMatchObject(refused)
    const added = world.records.increment(all(), { kind: 'note', id, field: 'weight' })
    await expect(added).rejects.toMatchObject(refused)
  })
})

describe('a directory that nobody knew', () => {
  const operator = (scope: string | null) => world.as('operator', { scope })
  beforeEach(async () => {
    const places = playedPlaces({
      ...{ memories: ['/src/clone', '/projects/bob/lib'], repositories: ['/src/new'], homes: ['/home/ada'] },
    })
    world = await recordWorld(Object.values(KINDS), { places })
  })

  test.each([
    ['the memory above it', '/src/clone', ['/src/clone/src/auth', '/src/clone/src', '/src/clone']],
    ['git’s work tree', '/src/new', ['/src/new/packages/a', '/src/new']],
  ])('is about %s, to read and to write, and that is what becomes known', async (_, root, scopes) => {
    await put(operator(scopes[0] ?? ''), 'x')
    expect(world.projects.list().map((project) => project.root)).toContain(root)
    expect(world.projects.list().map((project) => project.root)).not.toContain(scopes[0])
    for (const scope of scopes) expect(await texts(operator(scope))).toEqual(['x'])
    expect(await kept(root)).toEqual(['x'])
  })

  test('is read before anything is known, and stays unknown then', async () => {
    await put(operator('/src/clone'))
    const { openProject } = world.needs
    const places = playedPlaces({ memories: ['/src/clone'] })
    world = await recordWorld(Object.values(KINDS), { openProject, places })
    expect(await texts(operator('/src/clone/src'))).toEqual(['x'])
    expect(world.projects.find('/src/clone')).toBeNull()
  })

  test('is meant by everybody where it lies in a known project, and has a memory of its own', async () => {
    expect(await texts(world.as('ada', { scope: '/projects/bob/lib/src' }))).toEqual([])
    expect(world.projects.find('/projects/bob/lib')).toBeNull()
    await put(world.as('ada', { scope: '/projects/bob/lib/src' }), 'inner')
    await put(world.as('ada', { scope: '/projects/bob' }), 'outer')
    expect(await kept('/projects/bob/lib')).toEqual(['inner'])
    expect(await kept('/projects/bob')).toEqual(['outer'])
    expect(world.projects.find('/projects/bob/lib')).not.toBeNull()
  })

  test('is refused where it holds a home, to read and to write, however it is called', async () => {
    const { project_id } = await world.projects.add({ path: '/home/eve', aliases: ['me'] })
    const { home } = world
    // What a former hub kept that knew of no homes.
    const places = playedPlaces({ homes: ['/home/ada', '/home/eve'] })
    world = await recordWorld(Object.values(KINDS), { home, places })
    const detail = /^\/home\/(ada|eve) is no project: a home of turnbell is there/
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

  test('that holds a home and was a persona’s project leaves it the memory of the hub', async () => {
    const places = playedPlaces({ homes: ['/projects/bob'] })
    world = await recordWorld(Object.values(KINDS), { places, home: world.home })
    await put(world.as('bob'), 'with the hub')
    expect(await texts(world.as('ada'))).toEqual(['with the hub'])
  })
})
