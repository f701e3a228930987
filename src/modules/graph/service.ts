/** The graph of a project: entities and the relations between them, each there once. */
import { folded, sameText } from '../../contracts/same-text.ts'
import { isDeepStrictEqual } from 'node:util'
import { neighborsOf, pathBetween } from './walk.ts'
import { TurnbellError } from '../../contracts/errors.ts'
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
} from '../../contracts/graph.ts'
import { Ulid } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nearest } from '../../contracts/names.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { keyOf, standInsOf, wayOf } from '../memory/as-one.ts'
import type { Library } from '../memory/library.ts'
import type { MemoryCall, MemoryPlaces } from '../memory/place.ts'
import { shownTo } from '../signals/defang.ts'
import { withinBytes } from '../within-bytes.ts'
import { best, type MemorySearch } from '../memory/ranking.ts'

/** Every call may throw `project_unknown` and `store_unavailable`. */
export interface Graph {
  /** One of the same name and type gets the new properties beside those it has. Throws `limit_reached`. */
  addEntity(call: MemoryCall, input: AddEntityInput): Promise<{ id: string }>
  /**
   * Between entities that are named by id or by name. One that is there already is only changed.
   * Throws `entity_unknown` and `limit_reached`.
   */
  addRelation(call: MemoryCall, input: AddRelationInput): Promise<{ id: string }>
  /** Throws `entity_unknown`. */
  neighbors(call: MemoryCall, input: NeighborsInput): Promise<Neighbors>
  /** The shortest way from one to another, whichever way the relations point. Throws `entity_unknown`. */
  path(call: MemoryCall, input: PathInput): Promise<GraphPath>
  /** By names and properties. */
  query(call: MemoryCall, input: GraphQueryInput): Promise<GraphQueryAnswer>
}

/** What is to be there. An entity is meant by its name and type, one of a relation by the entity it was made of. */
export interface WantedEntity {
  name: string
  type: string
  properties: Entity['properties']
}

export interface GraphNeeds {
  places: MemoryPlaces
  search: MemorySearch
  clock: Clock
  ids: Ids
}

export function createGraph({ places, search, clock, ids }: GraphNeeds): Graph {
  const making = { clock, ids }

  return {
    async addEntity(call, wanted) {
      const { library } = await places.toWrite(call)
      const [entity] = await putEntities(library, [wanted], making, checkGrown)
      return { id: entity?.id ?? '' }
    },

    async addRelation(call, { source, target, type, properties }) {
      const { library } = await places.toWrite(call)
      const entities = await library.entities.all()
      const [from, to] = [entityNamed(entities, source), entityNamed(entities, target)]
      const [relation] = await putRelations(
        library,
        [{ source: from.id, target: to.id, type, properties }],
        making,
        checkGrown,
      )
      return { id: relation?.id ?? '' }
    },

    async neighbors(call, { entity, depth, relation_types, limit }) {
      const { library } = places.toRead(call)
      const [entities, relations] = [await library.entities.all(), await library.relations.all()]
      const center = entityNamed(entities, entity)
      const found = neighborsOf({ entities, relations }, center, {
        depth,
        ...(relation_types === undefined ? {} : { relation_types }),
      })
      const shown = withinBytes(found.slice(0, limit), LIMITS.answer_list_bytes_max)
      return shownTo(call.caller, { center, neighbors: shown, truncated: shown.length < found.length })
    },

    async path(call, { from, to, max_length }) {
      const { library } = places.toRead(call)
      const [entities, relations] = [await library.entities.all(), await library.relations.all()]
      const [start, end] = [entityNamed(entities, from), entityNamed(entities, to)]
      const path = pathBetween({ entities, relations }, start, end, max_length)
      if (path === null) return { found: false, length: null, entities: [], relations: [] }
      return shownTo(call.caller, { found: true, length: path.relations.length, ...fitting(path) })
    },

    async query(call, { query, entity_types, limit }) {
      const { library } = places.toRead(call)
      const all = await library.entities.all()
      const { scores } = await search.rank(library, 'entity', all, query)
      const entities = all.filter(({ type }) => entity_types === undefined || entity_types.includes(type))
      const results = best(entities, scores, limit).map(({ item, relevance }) => ({
        entity: item,
        relevance,
      }))
      return shownTo(call.caller, { results: withinBytes(results, LIMITS.answer_list_bytes_max) })
    },
  }
}

interface Making {
  clock: Clock
  ids: Ids
}

/** Throws where something has become too large by what it has got. */
type CheckGrown = (properties: Entity['properties'], before: Entity['properties']) => void

const checkGrown: CheckGrown = (properties, before) => {
  const count = Object.keys(properties).length
  if (count <= Math.max(LIMITS.properties_max, Object.keys(before).length)) return
  throw new TurnbellError('limit_reached', {
    detail: `With those that are there it would have ${count} properties, and ${LIMITS.properties_max} are the most.`,
    hint: 'Properties that are there can be changed; what says more is an entity or an entry of its own.',
  })
}

/** The way is whole in any case; what is known of each place on it only where one answer carries all of that. */
function fitting<Way extends { entities: Entity[]; relations: Relation[] }>(way: Way): Way {
  if (Buffer.byteLength(JSON.stringify(way)) <= LIMITS.answer_list_bytes_max) return way
  const bare = <T extends { properties: Entity['properties'] }>(one: T): T => ({ ...one, properties: {} })
  return { ...way, entities: way.entities.map(bare), relations: way.relations.map(bare) }
}

/**
 * In the order of what was wanted. Properties that are there and not told stay; `check` is asked of what that makes of one
 * that was told some.
 */
export async function putEntities(
  { entities }: Library,
  wanted: readonly WantedEntity[],
  { clock, ids }: Making,
  check: CheckGrown = () => undefined,
): Promise<Entity[]> {
  return entities.exclusive(async (held) => {
    const known = new Map((await held.all()).map((entity) => [keyOf(entity), entity]))
    const puts: Promise<void>[] = []
    const put = (entity: Entity): Entity => {
      known.set(keyOf(entity), entity)
      puts.push(held.put(entity))
      return entity
    }
    const now = timestamp(clock)
    const done = wanted.map((one) => {
      const { name, type } = one
      const before = known.get(keyOf(one))
      const properties = { ...before?.properties, ...one.properties }
      if (before === undefined)
        return put({ id: ids.next(), name, type, properties, created_at: now, updated_at: now })
      if (isDeepStrictEqual(properties, before.properties)) return before
      check(properties, before.properties)
      return put({ ...before, properties, updated_at: now })
    })
    await Promise.all(puts)
    return done
  })
}

/** The same for relations, which are meant by what they lead from and to, and their type. */
export async function putRelations(
  { relations }: Library,
  wanted: readonly Pick<Relation, 'source' | 'target' | 'type' | 'properties'>[],
  { clock, ids }: Making,
  check: CheckGrown = () => undefined,
): Promise<Relation[]> {
  return relations.exclusive(async (held) => {
    const known = new Map((await held.all()).map((relation) => [wayOf(relation), relation]))
    const puts: Promise<void>[] = []
    const done = wanted.map((one) => {
      const before = known.get(wayOf(one))
      const properties = { ...before?.properties, ...one.properties }
      if (before !== undefined && isDeepStrictEqual(properties, before.properties)) return before
      if (before !== undefined) check(properties, before.properties)
      const { source, target, type } = one
      const relation: Relation = {
        ...(before ?? { id: ids.next(), source, target, type, created_at: timestamp(clock) }),
        properties,
      }
      known.set(wayOf(relation), relation)
      puts.push(held.put(relation))
      return relation
    })
    await Promise.all(puts)
    return done
  })
}

/** Of too many names only the likeliest, in one pass: those that share most words, and of these the most alike. */
function likely(named: string, names: readonly string[]): readonly string[] {
  const most = LIMITS.names_compared_max
  if (names.length <= most) return names
  const asked = folded(named)
  const words = [...new Set(asked.split(WORD_END).filter((word) => word.length > 2))].slice(-WORDS_MAX)
  const by_rank = new Map<number, string[]>()
  for (const name of names) {
    const rank = rankOf(folded(name), asked, words)
    const alike = by_rank.get(rank) ?? []
    if (rank === 0 || alike.length === most) continue
    alike.push(name)
    by_rank.set(rank, alike)
  }
  const ranked = [...by_rank].sort(([a], [b]) => b - a)
  return ranked.flatMap(([, alike]) => alike).slice(0, most)
}

/**
 * A slip of the pen is mostly in one word, and the others are shared; where none is, a name begins alike and is about as
 * long. 0 for what is not worth comparing.
 */
function rankOf(name: string, asked: string, words: readonly string[]): number {
  const shared = words.filter((word) => name.includes(word)).length
  const begins = name.startsWith(asked.slice(0, 2)) && Math.abs(name.length - asked.length) <= 2
  return shared > 0 || begins ? shared * (asked.length + 1) + sharedEnds(name, asked) : 0
}

/** How many letters are the same from the start and from the end: nearly all where there is one slip. */
function sharedEnds(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  let start = 0
  while (start < length && a[start] === b[start]) start++
  let end = 0
  while (start + end < length && a.at(-1 - end) === b.at(-1 - end)) end++
  return start + end
}

/** Of a path the last ones say the most. */
const WORDS_MAX = 8
const WORD_END = /[^\p{L}\p{N}]+/u

/** By its id, or by its name where only one has it. Throws `entity_unknown`. */
export function entityNamed(entities: readonly Entity[], named: string): Entity {
  const stand_in = standInsOf(entities).get(named) ?? named
  const found = entities.filter(({ id, name }) => id === stand_in || sameText(name, named))
  const [one, ...others] = found
  if (one !== undefined && others.length === 0) return one
  if (one === undefined) {
    const meant = Ulid.safeParse(named).success
      ? null
      : nearest(
          named,
          likely(
            named,
            entities.map(({ name }) => name),
          ),
        )
    throw new TurnbellError('entity_unknown', {
      detail: `There is no entity ${JSON.stringify(named)} here.`,
      ...(meant === null ? {} : { hint: `Did you mean ${JSON.stringify(meant)}?` }),
    })
  }
  const which = found.map(({ id, type }) => `${id} (${type})`).join(', ')
  throw new TurnbellError('entity_unknown', {
    detail: `${found.length} entities are called ${JSON.stringify(named)}: ${which}.`,
    hint: 'Name the one you mean by its id.',
  })
}
