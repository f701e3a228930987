import { beforeEach, describe, expect, test } from 'vitest'
import type { Fields } from '../../../../src/modules/records/change.ts'
import { recordWorld, type RecordWorld } from '../../../support/worlds/record-world.ts'

let world: RecordWorld
beforeEach(async () => {
  world = await recordWorld()
})

const put = (kind: string, record: Fields, who = 'ada') => world.records.put(world.as(who), { kind, record })
const get = (kind: string, id: string) => world.records.get(world.as('ada'), { kind, id })
const close = (id: string, fields?: Fields) =>
  world.records.close(world.as('ada'), { kind: 'chore', id, fields })
const move = (id: string, to: string) => world.records.move(world.as('ada'), { kind: 'chore', id, to })
const NOWHERE = '01JZ0000000000000000000000'

describe('a new record', () => {
  test('a new record has an id, a generation, an author, and the defaults of its kind', async () => {
    const now = new Date(world.clock.now()).toISOString()
    const record = await put('chore', { title: 'sweep' })
    expect(record).toEqual({
      id: record.id,
      kind: 'chore',
      status: 'open',
      scope: 'project',
      agent_id: 'ada',
      created_at: now,
      updated_at: now,
      generation: 1,
      title: 'sweep',
      count: 1,
    })
    expect(await get('chore', record.id)).toEqual(record)
  })

  test('a new record has the named author, else that of the call, else the caller', async () => {
    const call = world.as('ada', { agent_id: 'ada/helper-2' })
    const record = { text: 'x' }
    expect((await world.records.put(call, { kind: 'note', record })).agent_id).toBe('ada/helper-2')
    const told = { ...record, agent_id: 'somebody' }
    expect((await world.records.put(call, { kind: 'note', record: told })).agent_id).toBe('somebody')
    expect((await put('note', record)).agent_id).toBe('ada')
    const forged = { ...record, agent_id: 'human' }
    expect((await world.records.put(call, { kind: 'note', record: forged })).agent_id).toBe('ada')
  })

  test('a new record belongs to the whole project unless it names an area, and has no status if its kind has none', async () => {
    expect(await put('note', { text: 'x', scope: 'src/auth/' })).toMatchObject({ scope: 'src/auth/' })
    expect(await put('note', { text: 'x' })).not.toHaveProperty('status')
  })

  test('a new record contains the values of its JSON, independent of the given object', async () => {
    const given = { text: 'x', weight: undefined as never }
    const record = await put('note', given)
    expect(Object.keys(record)).not.toContain('weight')
    given.text = 'y'
    expect(await get('note', record.id)).toStrictEqual(record)
  })

  test('a new record starts with the first status', async () => {
    expect(await put('chore', { title: 'x', status: 'open' })).toMatchObject({ status: 'open' })
    await expect(put('chore', { title: 'x', status: 'done' })).rejects.toMatchObject({
      code: 'transition_forbidden',
      detail: 'A new chore is open, not done.',
    })
  })
})

describe('an invalid record', () => {
  const BAD: [string, string, Fields, RegExp][] = [
    ['misses a field', 'note', {}, /^note: text: expected string, found nothing/],
    ['has the wrong type', 'note', { text: 7 }, /text: expected string, found 7/],
    [
      'has an unknown field',
      'chore',
      { title: 'x', cuont: 1 },
      /unknown field cuont \(did you mean count\?\)/,
    ],
    ['is out of bounds', 'chore', { title: 'x', count: 6 }, /count: .*at most 5, found 6/],
    [
      'has an unknown status',
      'chore',
      { title: 'x', status: 'opne' },
      /one of open, running, done, found "opne"/,
    ],
    ['has a forbidden status', 'note', { text: 'x', status: 'open' }, /a note has no status/],
    ['brings its own generation', 'note', { text: 'x', generation: 7 }, /unknown field generation/],
    ['starts with a final status', 'chore', { title: 'x', result: 'done' }, /unknown field result/],
    ['has an invalid id', 'note', { text: 'x', id: 'one' }, /id: expected an id is a ULID|id: /],
    ['has an empty area', 'note', { text: 'x', scope: '' }, /scope: expected string of at least 1/],
  ]

  test.each(BAD)(
    'an invalid record (%s) is rejected, and nothing is stored',
    async (_, kind, record, detail) => {
      await expect(put(kind, record)).rejects.toMatchObject({ code: 'params_invalid', detail })
      expect(await world.hub_records.list(kind)).toEqual([])
    },
  )

  test('a record that is too large is rejected', async () => {
    const text = 'x'.repeat(70_000)
    await expect(put('note', { text })).rejects.toMatchObject({ code: 'record_too_large' })
    const { id } = await put('note', { text: 'x' })
    await expect(put('note', { id, text })).rejects.toMatchObject({ code: 'record_too_large' })
  })

  test('a record of an unknown kind is rejected', async () => {
    await expect(put('chroe', {})).rejects.toMatchObject({
      code: 'kind_unknown',
      detail: 'There is no kind "chroe". Known kinds: note, chore, mark, session.',
      hint: 'Did you mean chore?',
    })
    await expect(world.records.query(world.as('ada'), { kind: '__proto__' })).rejects.toMatchObject({
      code: 'kind_unknown',
    })
  })
})

describe('putting an existing record', () => {
  test('putting an existing record changes the given fields and keeps the rest', async () => {
    const before = await put('chore', { title: 'sweep', owner: 'bob', scope: 'attic' })
    await world.clock.advance(1000)
    const after = await put('chore', { id: before.id, count: 3 }, 'cyd')
    expect(after).toEqual({
      ...before,
      count: 3,
      generation: 2,
      updated_at: new Date(world.clock.now()).toISOString(),
    })
    expect(await put('chore', { id: before.id, agent_id: 'cyd', scope: 'cellar' })).toMatchObject({
      agent_id: 'cyd',
      scope: 'cellar',
      title: 'sweep',
    })
  })

  test('putting an existing record ignores undefined fields', async () => {
    const note = await put('note', { text: 'x', weight: 3 })
    expect(await put('note', { id: note.id, weight: undefined as never })).toMatchObject({ weight: 3 })
  })

  test('putting an existing record removes a field with null, unless null is a valid value', async () => {
    const note = await put('note', { text: 'x', weight: 3 })
    expect(await put('note', { id: note.id, weight: null })).not.toHaveProperty('weight')
    const chore = await put('chore', { title: 'x', owner: 'bob' })
    expect(await put('chore', { id: chore.id, owner: null })).toMatchObject({ owner: null })
    await expect(put('note', { id: note.id, text: null })).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('putting a missing record by id is rejected, and creates none', async () => {
    const refused = put('chore', { id: NOWHERE, title: 'x' })
    await expect(refused).rejects.toMatchObject({ code: 'record_unknown' })
    expect(await world.hub_records.list('chore')).toEqual([])
  })

  test('putting an existing record may move it, by the same rules', async () => {
    const { id } = await put('chore', { title: 'x' })
    expect(await put('chore', { id, status: 'running' })).toMatchObject({ status: 'running' })
    await expect(put('chore', { id, status: 'done' })).rejects.toMatchObject({ code: 'params_invalid' })
    expect(await put('chore', { id, status: 'done', result: 'clean' })).toMatchObject({ status: 'done' })
    await expect(put('chore', { id, status: 'open' })).rejects.toMatchObject({ code: 'transition_forbidden' })
    expect(world.told().map(({ type }) => type)).toEqual(['record.put', 'record.put', 'record.closed'])
  })

  test('putting an existing record keeps unknown fields in its file', async () => {
    const { id } = await put('note', { text: 'x' })
    const body = await world.hub_records.get('note', id)
    await world.hub_records.put('note', id, { ...body, from_the_future: [1] })
    expect(await put('note', { id, text: 'y' })).toMatchObject({ text: 'y', from_the_future: [1] })
  })

  test('putting a record of a unique kind needs no id', async () => {
    const first = await put('mark', { name: 'home', color: 'blue' })
    const again = await put('mark', { name: 'home' })
    expect(again).toEqual({ ...first, generation: 2, updated_at: again.updated_at })
    expect((await put('mark', { name: 'home', page: 2 })).id).not.toBe(first.id)
    await world.records.close(world.as('ada'), { kind: 'mark', id: first.id })
    expect((await put('mark', { name: 'home' })).id).not.toBe(first.id)
  })
})

describe('the order of records', () => {
  test('records are ordered by their changes in one store, whatever the clock shows', async () => {
    const first = await put('note', { text: 'one' })
    world.clock.setBack(86_400_000)
    const second = await put('note', { text: 'two' })
    const third = await put('note', { id: first.id, text: 'three' })
    expect([first, second, third].map(({ generation }) => generation)).toEqual([1, 2, 3])
    const { records } = await world.records.query(world.as('ada'), { kind: 'note', sort: 'generation' })
    expect(records.map(({ text }) => text)).toEqual(['two', 'three'])
    expect((await put('chore', { title: 'another kind' })).generation).toBe(1)
    expect((await put('note', { text: 'another store' }, 'bob')).generation).toBe(1)
  })

  test('every change has a unique generation, also with concurrent puts', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => put('note', { text: `${n}` })))
    expect(new Set(all.map(({ generation }) => generation)).size).toBe(20)
  })
})

describe('a status', () => {
  test('a status changes only as its kind allows, and a rejection lists the allowed ones', async () => {
    const { id } = await put('chore', { title: 'x' })
    expect(await move(id, 'running')).toMatchObject({ status: 'running', generation: 2 })
    expect(await move(id, 'running')).toMatchObject({ generation: 2 })
    expect(await move(id, 'open')).toMatchObject({ status: 'open' })
    await close(id, { result: 'clean' })
    await expect(move(id, 'running')).rejects.toMatchObject({
      code: 'transition_forbidden',
      detail: `The chore ${id} is done and can move to no other status, not to running.`,
      hint: 'A chore can move to running from open.',
    })
    await expect(move(id, 'nowhere')).rejects.toMatchObject({ code: 'params_invalid' })
    await expect(move(NOWHERE, 'open')).rejects.toMatchObject({ code: 'record_unknown' })
    const note = await put('note', { text: 'x' })
    const moved = world.records.move(world.as('ada'), { kind: 'note', id: note.id, to: 'open' })
    await expect(moved).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('a status ends with the close action of its kind, with the fields that belong to it', async () => {
    const { id } = await put('chore', { title: 'x' })
    await expect(close(id)).rejects.toMatchObject({ code: 'params_invalid', detail: /chore: result: / })
    const wrong = close(id, { result: 'x', title: 'y' })
    await expect(wrong).rejects.toMatchObject({ code: 'params_invalid', detail: /unknown field title/ })
    expect(await get('chore', id)).toMatchObject({ status: 'open' })
    expect(await close(id, { result: 'clean' })).toMatchObject({
      status: 'done',
      result: 'clean',
      title: 'x',
    })
  })

  test('a final status can be repeated, but not with other fields', async () => {
    const { id } = await put('chore', { title: 'x' })
    const closed = await close(id, { result: 'clean' })
    expect(await close(id, { result: 'clean' })).toEqual(closed)
    expect(await get('chore', id)).toEqual(closed)
    await expect(close(id, { result: 'dirty' })).rejects.toMatchObject({ code: 'transition_forbidden' })
    expect(world.told()).toHaveLength(2)
  })

  test('a kind without a final status cannot be closed', async () => {
    const { id } = await put('note', { text: 'x' })
    const closed = world.records.close(world.as('ada'), { kind: 'note', id })
    await expect(closed).rejects.toMatchObject({
      code: 'transition_forbidden',
      detail: 'A note cannot be closed.',
    })
    await expect(close(NOWHERE)).rejects.toMatchObject({ code: 'record_unknown' })
  })
})

describe('counting', () => {
  const add = (id: string, field = 'count', by?: number) =>
    world.records.increment(world.as('ada'), { kind: 'chore', id, field, by })

  test('counting adds one or a number, and loses no concurrent addition', async () => {
    const { id } = await put('chore', { title: 'x', count: 0 })
    await Promise.all([add(id), add(id), add(id, 'count', 2)])
    expect(await get('chore', id)).toMatchObject({ count: 4 })
  })

  test('counting respects the limits of its field, and needs a number', async () => {
    const { id } = await put('chore', { title: 'x' })
    await expect(add(id, 'count', 5)).rejects.toMatchObject({ code: 'params_invalid', detail: /at most 5/ })
    await expect(add(id, 'title')).rejects.toMatchObject({ code: 'params_invalid', detail: /a number/ })
    await expect(add(NOWHERE)).rejects.toMatchObject({ code: 'record_unknown' })
  })
})

describe('every change', () => {
  test("every change is published once stored, with its real caller and without the record's contents", async () => {
    const call = world.as('bob', { agent_id: 'somebody' })
    const { project_id } = world.projects.get('/projects/bob')
    const chore = await world.records.put(call, { kind: 'chore', record: { title: 'x' } })
    await world.records.close(call, { kind: 'chore', id: chore.id, fields: { result: 'y' } })
    const about = { kind: 'chore', id: chore.id, project_id }
    expect(world.told()).toMatchObject([
      { type: 'record.put', agent_id: 'bob', data: { ...about, generation: 1, status: 'open' } },
      { type: 'record.closed', agent_id: 'bob', data: { ...about, generation: 2, status: 'done' } },
    ])
    expect(Object.keys(world.told()[0]?.data ?? {})).toHaveLength(5)
    await put('note', { text: 'x' })
    expect(world.told().at(-1)?.data).toMatchObject({ status: null, project_id: null })
  })
})

describe('foreign data in a store', () => {
  test('invalid foreign records are quarantined, and the valid ones are found', async () => {
    const { id } = await put('note', { text: 'good' })
    const body = (await world.hub_records.get('note', id)) ?? {}
    await world.hub_records.put('note', NOWHERE, { ...body, id: NOWHERE, text: 7 })
    await world.hub_records.put('note', 'other', body)
    const found = await world.records.query(world.as('ada'), { kind: 'note' })
    expect(found.records.map((record) => record.id)).toEqual([id])
    expect((await world.hub_records.list('note')).map((row) => row.id)).toEqual([id])
  })

  test('invalid foreign records are neither returned nor changed', async () => {
    const { id } = await put('chore', { title: 'x' })
    const body = (await world.hub_records.get('chore', id)) ?? {}
    await world.hub_records.put('chore', id, { ...body, status: 'opne' })
    await expect(get('chore', id)).rejects.toMatchObject({ code: 'record_unknown' })
    await expect(move(id, 'running')).rejects.toMatchObject({ code: 'record_unknown' })
    expect(await world.hub_records.get('chore', id)).toBeNull()
  })
})
