import { beforeEach, describe, expect, test } from 'vitest'
import {
  AddEntityInput,
  AddRelationInput,
  GraphQueryInput,
  NeighborsInput,
  PathInput,
} from '../../../../src/contracts/memory/graph.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { entityNamed } from '../../../../src/modules/graph/entity-named.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

let world: MemoryWorld
beforeEach(async () => {
  world = await memoryWorld()
})

const entity = async (name: string, type = 'file', properties = {}) =>
  (await world.graph.addEntity(world.bob, AddEntityInput.parse({ name, type, properties }))).id
const relate = async (source: string, target: string, type = 'imports', properties = {}) =>
  (await world.graph.addRelation(world.bob, AddRelationInput.parse({ source, target, type, properties }))).id
const around = async (input: object) => {
  const { neighbors } = await world.graph.neighbors(world.bob, NeighborsInput.parse(input))
  return neighbors.map(({ entity: { name }, relation, direction }) => `${direction} ${relation.type} ${name}`)
}
const kept = (kind: string) => world.project('/projects/bob').list(kind)

describe('an entity', () => {
  test('an existing entity of the same name and type gets new properties in addition to the old', async () => {
    const id = await entity('src/a.ts', 'file', { owner: 'ann', lines: '10' })
    await world.clock.advance(1_000)
    expect(await entity('src/a.ts', 'file', { lines: '12' })).toBe(id)
    expect(await entity('src/a.ts', 'module')).not.toBe(id)
    expect((await kept('entity'))[0]?.body).toEqual({
      id,
      name: 'src/a.ts',
      type: 'file',
      properties: { owner: 'ann', lines: '12' },
      created_at: '2026-03-01T12:00:00.000Z',
      updated_at: '2026-03-01T12:00:01.000Z',
    })
  })

  test('an entity added by concurrent calls exists once', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => entity('src/a.ts')))
    expect(new Set(ids).size).toBe(1)
    expect(await kept('entity')).toHaveLength(1)
  })

  test('an entity has a limited number of properties, also over several calls', async () => {
    const some = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${from + n}`, 'x']))
    await entity('a', 'file', some(0, LIMITS.properties_max))
    expect(await refusedWith(() => entity('a', 'file', some(LIMITS.properties_max, 1)))).toBe('limit_reached')
    await entity('a', 'file', { p0: 'changed' })
    await entity('b')
    await relate('a', 'b', 'imports', some(0, LIMITS.properties_max))
    expect(await refusedWith(() => relate('a', 'b', 'imports', some(LIMITS.properties_max, 1)))).toBe(
      'limit_reached',
    )
  })

  test.each<[string, object]>([
    ['without a name', { name: '', type: 'file' }],
    ['of an unknown type', { name: 'a', type: 'galaxy' }],
    ['with a property that is not text', { name: 'a', type: 'file', properties: { lines: 10 } }],
    [
      'with too many properties',
      {
        name: 'a',
        type: 'file',
        properties: Object.fromEntries([...Array(65).keys()].map((n) => [`p${n}`, ''])),
      },
    ],
  ])('an entity %s is rejected', (_, input) => {
    expect(AddEntityInput.safeParse(input).success).toBe(false)
  })
})

describe('a relation', () => {
  test('a relation connects entities named by id or by name, and exists once', async () => {
    const [a, b] = [await entity('a'), await entity('b')]
    const id = await relate('a', b)
    expect(await relate(a, 'b', 'imports', { line: '3' })).toBe(id)
    expect(await relate('b', 'a')).not.toBe(id)
    expect(await relate('a', 'b', 'calls')).not.toBe(id)
    expect((await kept('relation'))[0]?.body).toMatchObject({
      id,
      source: a,
      target: b,
      type: 'imports',
      properties: { line: '3' },
    })
  })

  test('a relation with a missing or ambiguous entity is rejected with suggestions', async () => {
    await entity('src/auth.ts')
    await entity('two', 'file')
    await entity('two', 'module')
    await expect(relate('src/auht.ts', 'two')).rejects.toMatchObject({
      code: 'entity_unknown',
      hint: 'Did you mean "src/auth.ts"?',
    })
    // A text is compared only with the most likely names.
    for (let n = 0; n < 501; n++) await entity(`src/module-${n}/file-${n}.go`)
    await expect(relate('src/auht.ts', 'two')).rejects.toMatchObject({ hint: 'Did you mean "src/auth.ts"?' })
    await expect(relate('srv/auth.ts', 'two')).rejects.toMatchObject({ hint: 'Did you mean "src/auth.ts"?' })
    await expect(relate('src/auth.ts', 'two')).rejects.toMatchObject({
      code: 'entity_unknown',
      detail: expect.stringMatching(/2 entities .*\(file\).*\(module\)/) as string,
    })
    expect(RelationTypes('likes')).toBe(false)
  })
})

describe('an unknown name among 20,000 entities', () => {
  const called = (names: string[]) =>
    names.map((name, n) => ({
      id: `e${n}`,
      name,
      type: 'file',
      properties: {},
      created_at: '2026-03-01T12:00:00.000Z',
      updated_at: '2026-03-01T12:00:00.000Z',
    }))
  const files = (folder: string) => Array.from({ length: 20_000 }, (_, n) => `${folder}/module-${n}.ts`)

  test.each<[string, string, string, string[]]>([
    ['a slip in the last word', 'src/auth/sesion.ts', 'src/auth/session.ts', files('src')],
    ['many in the same folder', 'src/auth/sesion.ts', 'src/auth/session.ts', files('src/auth')],
    [
      'many that are as long',
      'src/zesion.ts',
      'src/session.ts',
      files('src').map((name) => name.slice(0, 13)),
    ],
    ['a slip in the first word', 'scr/auth/session.ts', 'src/auth/session.ts', files('src/auth')],
    ['a slip in the only word', 'Sesion', 'Session', files('Service')],
    ['the wrong case', 'usersession', 'UserSession', files('src')],
  ])('an unknown name is rejected with suggestions: %s', (_, asked, meant, others) => {
    expect(() => entityNamed(called([...others, meant]), asked)).toThrow(
      expect.objectContaining({ hint: `Did you mean ${JSON.stringify(meant)}?` }),
    )
  })

  test.each(['x', '…', 'Qqqqqq', `${'src '.repeat(128)}`])(
    'an unknown name without a similar one is rejected without suggestions: %s',
    (asked) => {
      expect(() => entityNamed(called(files('src')), asked)).toThrow(
        expect.not.objectContaining({ hint: expect.stringContaining('Did you mean') as string }),
      )
    },
  )
})

const RelationTypes = (type: string) => AddRelationInput.safeParse({ source: 'a', target: 'b', type }).success

describe('neighbours of an entity', () => {
  beforeEach(async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'alone']) await entity(name)
    await relate('a', 'b')
    await relate('b', 'c', 'calls')
    await relate('d', 'c')
    await relate('d', 'e')
    await relate('c', 'a')
  })

  test.each<[object, string[]]>([
    [{ entity: 'a' }, ['outgoing imports b', 'incoming imports c']],
    [{ entity: 'a', depth: 2 }, ['outgoing imports b', 'incoming imports c', 'incoming imports d']],
    [
      { entity: 'a', depth: 3 },
      ['outgoing imports b', 'incoming imports c', 'incoming imports d', 'outgoing imports e'],
    ],
    [{ entity: 'b', relation_types: ['calls'] }, ['outgoing calls c']],
    [{ entity: 'alone', depth: 3 }, []],
  ])('neighbours for %j are %j', async (input, expected) => {
    expect(await around(input)).toEqual(expected)
  })

  test('neighbours beyond the limit are omitted, which is marked', async () => {
    const answer = await world.graph.neighbors(world.bob, NeighborsInput.parse({ entity: 'a', limit: 1 }))
    expect(answer).toMatchObject({ center: { name: 'a' }, truncated: true, neighbors: [{}] })
  })

  test('neighbours are searched three relations deep, and no deeper', () => {
    for (const depth of [0, 4, 1.5])
      expect(NeighborsInput.safeParse({ entity: 'a', depth }).success).toBe(false)
  })

  test('relations to removed entities are skipped', async () => {
    const store = world.project('/projects/bob')
    const [b] = (await store.list('entity')).filter(({ body }) => body['name'] === 'b')
    await store.remove('entity', b?.id ?? '')
    expect(await around({ entity: 'a', depth: 3 })).toEqual([
      ...['incoming imports c', 'incoming imports d', 'outgoing imports e'],
    ])
  })

  const path = (from: string, to: string, max_length?: number) =>
    world.graph.path(world.bob, PathInput.parse({ from, to, ...(max_length && { max_length }) }))

  test('a path is the shortest way, whatever the direction of its relations', async () => {
    const found = await path('a', 'e')
    expect(found).toMatchObject({ found: true, length: 3 })
    expect(found.entities.map(({ name }) => name)).toEqual(['a', 'c', 'd', 'e'])
    expect(found.relations.map(({ type }) => type)).toEqual(['imports', 'imports', 'imports'])
    expect(await path('a', 'a')).toMatchObject({ found: true, length: 0, entities: [{ name: 'a' }] })
  })

  test('a path is complete even if the properties of its entities exceed an answer', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: LIMITS.properties_max }, (_, n) => [`p${n}`, '…'.repeat(1_000)]),
    )
    for (const name of ['a', 'c', 'd', 'e']) await entity(name, 'file', properties)
    const found = await path('a', 'e')
    expect(found.entities.map(({ name }) => name)).toEqual(['a', 'c', 'd', 'e'])
    expect(JSON.stringify(found).length).toBeLessThan(LIMITS.answer_list_bytes_max)
  })

  test('a path that is too long or missing is reported as not connected', async () => {
    const none = { found: false, length: null, entities: [], relations: [] }
    expect(await path('a', 'e', 2)).toEqual(none)
    expect(await path('a', 'alone')).toEqual(none)
    expect(await refusedWith(() => path('a', 'nowhere'))).toBe('entity_unknown')
  })
})

test('entities are found by their names and properties', async () => {
  await entity('src/auth/jwt.ts', 'file', { purpose: 'signs tokens' })
  await entity('AuthService', 'class')
  await entity('src/billing.ts', 'file')
  const find = async (input: object) => {
    const { results } = await world.graph.query(world.bob, GraphQueryInput.parse(input))
    return results.map(({ entity: { name } }) => name)
  }
  expect(await find({ query: 'auth' })).toEqual(expect.arrayContaining(['src/auth/jwt.ts', 'AuthService']))
  expect(await find({ query: 'tokens' })).toEqual(['src/auth/jwt.ts'])
  expect(await find({ query: 'auth', entity_types: ['class'] })).toEqual(['AuthService'])
  expect(await find({ query: 'auth', limit: 1 })).toHaveLength(1)
  expect(await find({ query: 'nothing of it' })).toEqual([])
})
