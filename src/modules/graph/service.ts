/** The graph of a project: unique entities and the relations between them. */
import { isDeepStrictEqual } from 'node:util'
import { entityNamed } from './entity-named.ts'
import { neighborsOf, pathBetween } from './walk.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import {
  type AddEntityInput,
  type AddRelationInput,
  type Entity,
  type GraphPath,
  type GraphQueryAnswer,
  type GraphQueryInput,
  type Neighbors,
  type NeighborsInput,
  type PathInput,
  type Relation,
} from '../../contracts/memory/graph.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { entityKey, relationKey } from '../memory/merge-duplicates.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'
import type { MemoryCall, MemoryResolver } from '../memory/memory-resolver.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'
import { topRanked, type MemorySearch } from '../memory/ranking.ts'

/** Every method may throw `project_unknown` and `store_unavailable`. */
export interface Graph {
  /** Adds an entity, or adds properties to the one with the same name and type. Throws `limit_reached`. */
  addEntity(call: MemoryCall, input: AddEntityInput): Promise<{ id: string }>
  /**
   * Adds a relation between two entities, or changes the existing one. Entities are passed by id or name.
   * Throws `entity_unknown` and `limit_reached`.
   */
  addRelation(call: MemoryCall, input: AddRelationInput): Promise<{ id: string }>
  /** Throws `entity_unknown`. */
  neighbors(call: MemoryCall, input: NeighborsInput): Promise<Neighbors>
  /** Returns the shortest path, ignoring the direction of relations. Throws `entity_unknown`. */
  path(call: MemoryCall, input: PathInput): Promise<GraphPath>
  /** Searches names and properties. */
  query(call: MemoryCall, input: GraphQueryInput): Promise<GraphQueryAnswer>
}

/** An entity to put, identified by name and type. */
export interface EntityInput {
  name: string
  type: string
  properties: Entity['properties']
}

export interface GraphDeps {
  resolver: MemoryResolver
  search: MemorySearch
  clock: Clock
  ids: Ids
}

export function createGraph({ resolver, search, clock, ids }: GraphDeps): Graph {
  return {
    async addEntity(call, wanted) {
      const { memory } = await resolver.forWrite(call)
      const [entity] = await putEntities(memory, [wanted], { clock, ids }, checkPropertyCount)
      return { id: entity?.id ?? '' }
    },

    async addRelation(call, { source, target, type, properties }) {
      const { memory } = await resolver.forWrite(call)
      const entities = await memory.entities.list()
      const [from, to] = [entityNamed(entities, source), entityNamed(entities, target)]
      const [relation] = await putRelations(
        memory,
        [{ source: from.id, target: to.id, type, properties }],
        { clock, ids },
        checkPropertyCount,
      )
      return { id: relation?.id ?? '' }
    },

    async neighbors(call, { entity, depth, relation_types, limit }) {
      const { memory } = resolver.forRead(call)
      const [entities, relations] = [await memory.entities.list(), await memory.relations.list()]
      const center = entityNamed(entities, entity)
      const found = neighborsOf({ entities, relations }, center, {
        depth,
        ...(relation_types === undefined ? {} : { relation_types }),
      })
      const shown = truncateToBytes(found.slice(0, limit), LIMITS.answer_list_bytes_max)
      return { center, neighbors: shown, truncated: shown.length < found.length }
    },

    async path(call, { from, to, max_length }) {
      const { memory } = resolver.forRead(call)
      const [entities, relations] = [await memory.entities.list(), await memory.relations.list()]
      const [start, end] = [entityNamed(entities, from), entityNamed(entities, to)]
      const path = pathBetween({ entities, relations }, start, end, max_length)
      if (path === null) return { found: false, length: null, entities: [], relations: [] }
      return { found: true, length: path.relations.length, ...fitting(path) }
    },

    async query(call, { query, entity_types, limit }) {
      const { memory } = resolver.forRead(call)
      const all = await memory.entities.list()
      const { scores } = await search.rank(memory, 'entity', all, query)
      const entities = all.filter(({ type }) => entity_types === undefined || entity_types.includes(type))
      const results = topRanked(entities, scores, limit).map(({ item, relevance }) => ({
        entity: item,
        relevance,
      }))
      return { results: truncateToBytes(results, LIMITS.answer_list_bytes_max) }
    },
  }
}

/** Throws if an entity or relation has become too large. */
type CheckProperties = (
  what: 'entity' | 'relation',
  properties: Entity['properties'],
  before: Entity['properties'],
) => void

const checkPropertyCount: CheckProperties = (what, properties, before) => {
  const count = Object.keys(properties).length
  if (count <= Math.max(LIMITS.properties_max, Object.keys(before).length)) return
  throw new TurnbellError('limit_reached', {
    detail: `The ${what} would have ${count} properties in total; ${LIMITS.properties_max} are allowed.`,
    hint: 'Change existing properties, or add the rest as another entity or an entry.',
  })
}

/** Returns the whole path, without properties if they do not fit into one response. */
function fitting<Path extends { entities: Entity[]; relations: Relation[] }>(path: Path): Path {
  if (Buffer.byteLength(JSON.stringify(path)) <= LIMITS.answer_list_bytes_max) return path
  const bare = <T extends { properties: Entity['properties'] }>(one: T): T => ({ ...one, properties: {} })
  return { ...path, entities: path.entities.map(bare), relations: path.relations.map(bare) }
}

/**
 * Puts entities and returns them in the order of `wanted`. Existing properties stay unless they are replaced. `check` is
 * called with the properties of each changed entity.
 */
export async function putEntities(
  { entities }: ProjectMemory,
  wanted: readonly EntityInput[],
  { clock, ids }: Pick<GraphDeps, 'clock' | 'ids'>,
  check: CheckProperties = () => undefined,
): Promise<Entity[]> {
  return entities.exclusive(async (held) => {
    const known = new Map((await held.list()).map((entity) => [entityKey(entity), entity]))
    const puts: Promise<void>[] = []
    const put = (entity: Entity): Entity => {
      known.set(entityKey(entity), entity)
      puts.push(held.put(entity))
      return entity
    }
    const now = timestamp(clock)
    const done = wanted.map((one) => {
      const { name, type } = one
      const before = known.get(entityKey(one))
      const properties = { ...before?.properties, ...one.properties }
      if (before === undefined)
        return put({ id: ids.next(), name, type, properties, created_at: now, updated_at: now })
      if (isDeepStrictEqual(properties, before.properties)) return before
      check('entity', properties, before.properties)
      return put({ ...before, properties, updated_at: now })
    })
    await Promise.all(puts)
    return done
  })
}

/** As `putEntities`, for relations, which are identified by source, target and type. */
export async function putRelations(
  { relations }: ProjectMemory,
  wanted: readonly Pick<Relation, 'source' | 'target' | 'type' | 'properties'>[],
  { clock, ids }: Pick<GraphDeps, 'clock' | 'ids'>,
  check: CheckProperties = () => undefined,
): Promise<Relation[]> {
  return relations.exclusive(async (held) => {
    const known = new Map((await held.list()).map((relation) => [relationKey(relation), relation]))
    const puts: Promise<void>[] = []
    const done = wanted.map((one) => {
      const before = known.get(relationKey(one))
      const properties = { ...before?.properties, ...one.properties }
      if (before !== undefined && isDeepStrictEqual(properties, before.properties)) return before
      if (before !== undefined) check('relation', properties, before.properties)
      const { source, target, type } = one
      const relation: Relation = {
        ...(before ?? { id: ids.next(), source, target, type, created_at: timestamp(clock) }),
        properties,
      }
      known.set(relationKey(relation), relation)
      puts.push(held.put(relation))
      return relation
    })
    await Promise.all(puts)
    return done
  })
}
