/**
 * Entities that are one. An entity is meant by its name and type, and two branches may each have made it; after a
 * merge it is there under two ids. The older one stands for both, with what either knows, and relations of either
 * are its own. The files stay as they are: in the next branch the same is merged again.
 */
import { composed } from '../../contracts/same-text.ts'
import type { Collection, HeldCollection } from './collection.ts'
import { remembered } from './open.ts'
import type { Entity, Relation } from '../../contracts/graph.ts'

/** Ids of entities, to the id of the one that stands for them. */
export type StandIns = ReadonlyMap<string, string>

interface AsOne {
  entities: readonly Entity[]
  stand_ins: StandIns
}

const NONE: StandIns = new Map()

/** `entities` are in the order of their ids; the very same where each is there once. */
const oneOfEach = remembered((entities: readonly Entity[]): AsOne => {
  const ones = new Map<string, Entity>()
  const stand_ins = new Map<string, string>()
  for (const entity of entities) {
    const key = keyOf(entity)
    const older = ones.get(key)
    ones.set(key, older === undefined ? entity : joined(older, entity))
    if (older !== undefined) stand_ins.set(entity.id, older.id)
  }
  const answer =
    stand_ins.size === 0 ? { entities, stand_ins: NONE } : { entities: [...ones.values()], stand_ins }
  known.set(answer.entities, answer.stand_ins)
  return answer
})

const known = new WeakMap<readonly Entity[], StandIns>()

/** Who stands for those that are not among these. */
export function standInsOf(entities: readonly Entity[]): StandIns {
  return known.get(entities) ?? NONE
}

const between = remembered((stand_ins: StandIns) =>
  remembered((relations: readonly Relation[]): readonly Relation[] => {
    if (stand_ins.size === 0) return relations
    const isMoved = ({ source, target }: Relation) => stand_ins.has(source) || stand_ins.has(target)
    const kept = new Map(relations.filter((one) => !isMoved(one)).map((one) => [one.id, one]))
    // Of relations that somebody has drawn twice, each stays; only what is moved onto another is that one.
    const ways = new Map([...kept.values()].map((one) => [wayOf(one), one.id]))
    for (const relation of relations.filter(isMoved)) {
      const { id, source, target, properties } = relation
      const ends = { source: stand_ins.get(source) ?? source, target: stand_ins.get(target) ?? target }
      const moved = { ...relation, ...ends }
      const same = kept.get(ways.get(wayOf(moved)) ?? '')
      if (same === undefined) ways.set(wayOf(moved), id)
      const one = same === undefined ? moved : { ...same, properties: { ...properties, ...same.properties } }
      kept.set(one.id, one)
    }
    return [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }),
)

function joined(older: Entity, newer: Entity): Entity {
  const [former, later] = older.updated_at > newer.updated_at ? [newer, older] : [older, newer]
  const properties = { ...former.properties, ...later.properties }
  return { ...older, properties, updated_at: later.updated_at }
}

/** Either may hold blanks. */
export function keyOf({ name, type }: { name: string; type: string }): string {
  return JSON.stringify([composed(type), composed(name)])
}

export function wayOf({ source, target, type }: Pick<Relation, 'source' | 'target' | 'type'>): string {
  return `${source} ${type} ${target}`
}

export function entitiesAsOne(kept: Collection<Entity>): Collection<Entity> {
  return viewed(kept, async (all) => oneOfEach(await all()).entities)
}

/** `entities` as they are kept. */
export function relationsAsOne(
  kept: Collection<Relation>,
  entities: Pick<Collection<Entity>, 'all'>,
): Collection<Relation> {
  return viewed(kept, async (all) => between(oneOfEach(await entities.all()).stand_ins)(await all()))
}

function viewed<T>(
  kept: Collection<T>,
  view: (all: () => Promise<readonly T[]>) => Promise<readonly T[]>,
): Collection<T> {
  return {
    ...kept,
    all: () => view(() => kept.all()),
    exclusive: (work) =>
      kept.exclusive((held: HeldCollection<T>) => work({ ...held, all: () => view(() => held.all()) })),
  }
}
