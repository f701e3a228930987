/**
 * Merges duplicate entities. An entity is identified by its name and type, so two branches may each have created it, and
 * after a git merge it exists under two ids. The older id is the canonical one: it gets the properties and relations of
 * both. The files are not changed, because the next branch brings the same duplicates again.
 */
import { toNfc } from '../../contracts/text/same-text.ts'
import type { HeldTypedRecords, TypedRecords } from '../lib/typed-records.ts'
import { memoizeByRef } from '../lib/memoize.ts'
import type { Entity, Relation } from '../../contracts/memory/graph.ts'

/** Canonical ids, by the id of the duplicate. */
export type CanonicalIds = ReadonlyMap<string, string>

interface Merged {
  entities: readonly Entity[]
  canonical_ids: CanonicalIds
}

const NONE: CanonicalIds = new Map()

/** `entities` must be in the order of their ids; returned unchanged where there is no duplicate. */
const mergeAll = memoizeByRef((entities: readonly Entity[]): Merged => {
  const merged = new Map<string, Entity>()
  const canonical_ids = new Map<string, string>()
  for (const entity of entities) {
    const key = entityKey(entity)
    const older = merged.get(key)
    merged.set(key, older === undefined ? entity : mergePair(older, entity))
    if (older !== undefined) canonical_ids.set(entity.id, older.id)
  }
  const result =
    canonical_ids.size === 0
      ? { entities, canonical_ids: NONE }
      : { entities: [...merged.values()], canonical_ids }
  canonical_ids_of.set(result.entities, result.canonical_ids)
  return result
})

const canonical_ids_of = new WeakMap<readonly Entity[], CanonicalIds>()

/** Canonical ids of the duplicates that were merged into this list. */
export function canonicalIds(entities: readonly Entity[]): CanonicalIds {
  return canonical_ids_of.get(entities) ?? NONE
}

const redirectRelations = memoizeByRef((canonical_ids: CanonicalIds) =>
  memoizeByRef((relations: readonly Relation[]): readonly Relation[] => {
    if (canonical_ids.size === 0) return relations
    const isMoved = ({ source, target }: Relation) => canonical_ids.has(source) || canonical_ids.has(target)
    const result = new Map(relations.filter((one) => !isMoved(one)).map((one) => [one.id, one]))
    // Relations stored twice between the same entities both stay; only a moved relation merges into an existing one.
    const ids_by_key = new Map([...result.values()].map((one) => [relationKey(one), one.id]))
    for (const relation of relations.filter(isMoved)) {
      const { id, source, target, properties } = relation
      const ends = {
        source: canonical_ids.get(source) ?? source,
        target: canonical_ids.get(target) ?? target,
      }
      const moved = { ...relation, ...ends }
      const same = result.get(ids_by_key.get(relationKey(moved)) ?? '')
      if (same === undefined) ids_by_key.set(relationKey(moved), id)
      const one = same === undefined ? moved : { ...same, properties: { ...properties, ...same.properties } }
      result.set(one.id, one)
    }
    return [...result.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }),
)

function mergePair(older: Entity, newer: Entity): Entity {
  const [former, later] = older.updated_at > newer.updated_at ? [newer, older] : [older, newer]
  const properties = { ...former.properties, ...later.properties }
  return { ...older, properties, updated_at: later.updated_at }
}

/** Key of an entity. JSON, because name and type may both contain spaces. */
export function entityKey({ name, type }: { name: string; type: string }): string {
  return JSON.stringify([toNfc(type), toNfc(name)])
}

export function relationKey({ source, target, type }: Pick<Relation, 'source' | 'target' | 'type'>): string {
  return `${source} ${type} ${target}`
}

export function mergeEntities(stored: TypedRecords<Entity>): TypedRecords<Entity> {
  return withView(stored, async (all) => mergeAll(await all()).entities)
}

/** `entities` must be the stored, unmerged entities. */
export function mergeRelations(
  stored: TypedRecords<Relation>,
  entities: Pick<TypedRecords<Entity>, 'list'>,
): TypedRecords<Relation> {
  return withView(stored, async (all) =>
    redirectRelations(mergeAll(await entities.list()).canonical_ids)(await all()),
  )
}

function withView<T>(
  stored: TypedRecords<T>,
  view: (all: () => Promise<readonly T[]>) => Promise<readonly T[]>,
): TypedRecords<T> {
  return {
    ...stored,
    list: () => view(() => stored.list()),
    exclusive: (work) =>
      stored.exclusive((held: HeldTypedRecords<T>) => work({ ...held, list: () => view(() => held.list()) })),
  }
}
