import { beforeEach, describe, expect, test } from 'vitest'
import type { RecordCall } from '../../../../src/modules/records/where.ts'
import { recordWorld, type RecordWorld } from '../../../support/record-world.ts'

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
    expect(await kept('/work/bob')).toEqual(['x'])
    expect(await texts(world.as('ada', { scope: '/work/bob' }))).toEqual(['x'])
    expect(await texts(world.as('ada'))).toEqual([])
  })

  test('in the project that the call names: by id, by alias, by directory, from inside of it', async () => {
    const { project_id } = await world.projects.add({ path: '/work/app', aliases: ['app'] })
    const scopes = [project_id, 'app', '/work/app', '/work/app/', '/work/./app', '/work/app/src/auth']
    for (const scope of scopes) await put(world.as('bob', { scope }), scope)
    expect((await kept('/work/app')).sort()).toEqual([...scopes].sort())
    expect(await kept('/work/bob')).toEqual([])
  })

  test('in the innermost of two projects that hold the directory', async () => {
    await world.projects.at('/work/mono')
    await world.projects.at('/work/mono/packages/a')
    await put(world.as('ada', { scope: '/work/mono/packages/a/src' }), 'inner')
    await put(world.as('ada', { scope: '/work/mono/packages' }), 'outer')
    expect(await kept('/work/mono/packages/a')).toEqual(['inner'])
    expect(await kept('/work/mono')).toEqual(['outer'])
  })

  test('in a directory that nobody knew by the operator alone, and it is a project from then on', async () => {
    const unknown = { code: 'project_unknown', detail: 'The hub knows no project "/work/new".' }
    const agent = world.as('ada', { scope: '/work/new' })
    await expect(put(agent)).rejects.toMatchObject(unknown)
    await expect(texts(agent)).rejects.toMatchObject(unknown)
    const call = world.as('operator', { scope: '/work/new' })
    expect(await texts(call)).toEqual([])
    const refused = world.records.put(call, { kind: 'note', record: {} })
    await expect(refused).rejects.toMatchObject({ code: 'params_invalid' })
    const { id } = await put(world.as('ada'))
    const elsewhere = world.records.put(call, { kind: 'note', record: { id, text: 'y' } })
    await expect(elsewhere).rejects.toMatchObject({ code: 'record_unknown' })
    expect(world.projects.find('/work/new')).toBeNull()
    await put(call)
    expect(world.told().at(-1)?.data['project_id']).toBe(world.projects.get('/work/new').project_id)
    expect(await kept('/work/new')).toEqual(['x'])
    expect(await texts(agent)).toEqual(['x'])
  })

  test('with the hub whatever the call names, where its kind belongs to the hub', async () => {
    for (const scope of [null, '/work/bob', 'portfolio', 'no such project']) {
      await world.records.put(world.as('bob', { scope }), { kind: 'session', record: { project_id: 'p' } })
    }
    expect(await world.home.list('session')).toHaveLength(4)
    const call = world.as('bob', { scope: 'portfolio' })
    const { records } = await world.records.query(call, { kind: 'session' })
    expect(records.map((record) => record['project_id'])).toEqual(['p', 'p', 'p', 'p'])
  })

  test('under its own area, which says nothing of the project', async () => {
    const record = { text: 'x', scope: '/work/bob' }
    await world.records.put(world.as('ada'), { kind: 'note', record })
    expect(await kept('/work/bob')).toEqual([])
    expect((await world.home.list('note'))[0]?.body['scope']).toBe('/work/bob')
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
    await put(world.as('operator', { scope: '/work/app' }), 'app')
    const page = await world.records.query(all(), { kind: 'note', sort: 'id', limit: 1 })
    const rest = await world.records.query(all(), { kind: 'note', sort: 'id', after: String(page.next) })
    const project = (root: string) => world.projects.get(root).project_id
    expect([...page.records, ...rest.records]).toMatchObject([
      { text: 'bob', project_id: project('/work/bob') },
      { text: 'app', project_id: project('/work/app') },
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
