/** Connectivity of names with the entities of a scope. */
import type { Entity, Relation } from '../../contracts/memory/graph.ts'
import { memoizeByRef } from '../lib/memoize.ts'
import { within } from '../memory/scope.ts'

export interface Surroundings {
  /** Entities in the scope. */
  inside: readonly Entity[]
  /** Returns 1 for a name in the scope or one relation away, 0.5 for two relations, 0 otherwise. */
  connectivity(name: string): number
  relationsOf(entity: Entity): readonly Relation[]
  nameOf(id: string): string
}

const TWO_AWAY = 0.5

const entitiesById = memoizeByRef(
  (entities: readonly Entity[]) => new Map(entities.map((one) => [one.id, one])),
)
const relationsByEnd = memoizeByRef((relations: readonly Relation[]) => {
  const ends = new Map<string, Relation[]>()
  for (const relation of relations) {
    for (const id of new Set([relation.source, relation.target])) {
      const known = ends.get(id)
      if (known === undefined) ends.set(id, [relation])
      else known.push(relation)
    }
  }
  return ends
})

export function surroundingsOf(
  entities: readonly Entity[],
  relations: readonly Relation[],
  scope: string,
): Surroundings {
  const by_id = entitiesById(entities)
  const ends = relationsByEnd(relations)
  const inside = entities.filter(({ name, type }) => type !== 'concept' && within(name, scope))
  const near = new Map(inside.map(({ id }) => [id, 1]))
  let edge = [...near.keys()]
  for (const worth of [1, TWO_AWAY]) {
    const next: string[] = []
    for (const id of edge) {
      for (const { source, target } of ends.get(id) ?? []) {
        const other = source === id ? target : source
        if (near.has(other)) continue
        near.set(other, worth)
        next.push(other)
      }
    }
    edge = next
  }
  const by_name = new Map<string, number>()
  for (const [id, worth] of near) {
    const name = by_id.get(id)?.name
    if (name !== undefined) by_name.set(name, Math.max(by_name.get(name) ?? 0, worth))
  }
  return {
    inside,
    connectivity: (name) => by_name.get(name) ?? 0,
    relationsOf: ({ id }) => ends.get(id) ?? [],
    nameOf: (id) => by_id.get(id)?.name ?? id,
  }
}
