/** Two merged branches created the same entity. */
import { expect, test } from 'vitest'
import { ulid } from 'ulid'
import { AddEntityInput, AddRelationInput, NeighborsInput } from '../../../../src/contracts/memory/graph.ts'
import { memoryWorld } from '../../../support/worlds/memory-world.ts'

const at = '2026-01-01T00:00:00.000Z'
const later = '2026-02-01T00:00:00.000Z'
const id = (n: number) => ulid(Date.parse(at) + n)

async function merged() {
  const world = await memoryWorld()
  const { graph, bob } = world
  await graph.addEntity(bob, AddEntityInput.parse({ name: 'src/b.ts', type: 'file' }))
  const records = world.needs.openProject('/projects/bob')!.records
  const [here, there] = [id(1), id(2)]
  const shop = { name: 'shop', type: 'module', created_at: at }
  await records.put('entity', here, { ...shop, id: here, properties: { a: '1', b: '1' }, updated_at: at })
  await records.put('entity', there, { ...shop, id: there, properties: { b: '2' }, updated_at: later })
  const file = { name: 'shop', type: 'file', properties: {}, created_at: at, updated_at: at, id: id(3) }
  await records.put('entity', file.id, file)
  for (const [n, source] of [here, there].entries()) {
    const said = { source, target: file.id, type: 'imports', properties: { [`by_${n}`]: 'x' } }
    const relation = { id: id(10 + n), ...said, created_at: at }
    await records.put('relation', relation.id, relation)
  }
  const neighbors = (entity: string) => graph.neighbors(bob, NeighborsInput.parse({ entity }))
  return { ...world, records, here, there, file, neighbors }
}

test('a duplicate entity is found by either id, with the properties of both and each relation once', async () => {
  const { here, there, file, neighbors } = await merged()
  const one = await neighbors(here)
  expect(one.center).toMatchObject({ id: here, properties: { a: '1', b: '2' }, updated_at: later })
  expect(one.neighbors).toMatchObject([
    { entity: { id: file.id }, relation: { source: here, properties: { by_0: 'x', by_1: 'x' } } },
  ])
  expect(await neighbors(there)).toEqual(one)
  expect((await neighbors(file.id)).neighbors).toHaveLength(1)
})

test('a duplicate entity is changed and related as one', async () => {
  const { graph, bob, records, here, there, neighbors, blackboard } = await merged()
  const changed = await graph.addEntity(
    bob,
    AddEntityInput.parse({ name: 'shop', type: 'module', properties: { c: '3' } }),
  )
  expect(changed).toEqual({ id: here })
  expect((await neighbors(there)).center.properties).toEqual({ a: '1', b: '2', c: '3' })
  const relate = (source: string) =>
    graph.addRelation(bob, AddRelationInput.parse({ source, target: 'src/b.ts', type: 'calls' }))
  expect(await relate(there)).toEqual(await relate(here))
  expect(await records.list('relation')).toHaveLength(3)
  expect(await blackboard.status(bob)).toMatchObject({ graph_entities: 3, graph_relations: 2 })
})

test('relations stored twice between the same entities both stay', async () => {
  const { records, file, blackboard, bob } = await merged()
  for (const n of [20, 21]) {
    const way = { source: file.id, target: file.id, type: 'calls', properties: {}, created_at: at }
    const relation = { id: id(n), ...way }
    await records.put('relation', relation.id, relation)
  }
  expect(await blackboard.status(bob)).toMatchObject({ graph_relations: 3 })
})

test('a name shared by entities of two types is ambiguous', async () => {
  const { neighbors } = await merged()
  await expect(neighbors('shop')).rejects.toMatchObject({ code: 'entity_unknown' })
})

test('names and types that run together do not make two entities one', async () => {
  const { records, blackboard, bob } = await merged()
  const names = [
    { type: 'a b', name: 'c' },
    { type: 'a', name: 'b c' },
  ]
  for (const [n, named] of names.entries()) {
    const entity = { id: id(30 + n), ...named, properties: {}, created_at: at, updated_at: at }
    await records.put('entity', entity.id, entity)
  }
  expect(await blackboard.status(bob)).toMatchObject({ graph_entities: 5 })
})
