/**
 * Takes over what another tool remembered, under the ids and times that it has.
 *
 * What is here already stays as it is, so doing it again changes nothing, and nothing comes back that was changed
 * or archived here since. Only what is kept counts: no conflicts are looked for, and nobody is warned of the past.
 */
import { isDeepStrictEqual } from 'node:util'
import { archivedRows } from './archived.ts'
import { keyOf, wayOf } from './as-one.ts'
import { MEMORY_FORMS, type Library } from './library.ts'
import { withLinks, type Collection, type CollectionForm } from './collection.ts'
import type { MemoryCall, MemoryPlaces } from './place.ts'
import type { MemorySearch } from './ranking.ts'
import type { TellMemory } from './tell.ts'
import { describeParams } from '../../contracts/describe.ts'
import type { Entry } from '../../contracts/entry.ts'
import type { Entity, Relation } from '../../contracts/graph.ts'
import type { ImportCounts, ImportInput, ImportSort, Imported, SameAs } from '../../contracts/import.ts'
import { isDeeper } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { parsedRecord } from '../../contracts/near-fit.ts'
import { FOREIGN_ID, underUlid } from '../../ports/foreign-id.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { wellFormed } from '../well-formed.ts'

export interface MemoryImport {
  /** Throws `project_unknown` and `store_unavailable`; what does not fit is told, and keeps nothing else from it. */
  import(call: MemoryCall, input: ImportInput): Promise<Imported>
}

export interface ImportNeeds {
  places: MemoryPlaces
  search: Pick<MemorySearch, 'learn'>
  tell: TellMemory
}

/** What becomes of one item. */
type Fate = 'taken' | 'known' | 'changed'

/** The items of one sort that make sense, and what became of them. */
interface Taking<T> {
  items: T[]
  fate: (id: string, fate: Fate) => void
  /** With its links to foreign ids resolved. */
  linked: (item: T) => T
}

export function createImport({ places, search, tell }: ImportNeeds): MemoryImport {
  return {
    async import(call, input) {
      const place = await places.toWriteJustThere(call)
      const { library } = place
      const account = createAccount(await foreignIdsIn(library, input))
      const { entries, decisions, entities, relations } = MEMORY_FORMS
      const same_as = await takeEntities(library, account.of('entities', entities, input.entities))
      const led = { ...input.same_as, ...same_as }
      await takeRelations(library, account.of('relations', relations, input.relations), led)
      await takeById(library.decisions, account.of('decisions', decisions, input.decisions))
      const archived = account.of(
        'archived',
        entries,
        input.archived.map(({ entry }) => entry),
      )
      const days = new Map(input.archived.map(({ day, entry }) => [underUlid(entry)['id'], day]))
      await takeEntries(library, account.of('entries', entries, input.entries), archived, (id) =>
        days.get(id),
      )
      search.learn(library)
      const { counts } = account
      const taken = Object.entries(counts).map(([sort, { taken: number }]) => [sort, number] as const)
      if (taken.some(([, number]) => number > 0))
        tell(call, place, 'memory.imported', Object.fromEntries(taken))
      return {
        ...{ project_id: place.project_id, counts },
        ...{ changed: account.changed, rejected: account.rejected, same_as },
      }
    },
  }
}

/** Of the items of this call, and of what the memory and its archives hold already. */
async function foreignIdsIn(
  library: Library,
  { entries, decisions, entities, relations, archived }: ImportInput,
): Promise<ReadonlyMap<string, string>> {
  const given = [...entries, ...decisions, ...entities, ...relations, ...archived.map(({ entry }) => entry)]
  const here = entries.length + archived.length === 0 ? [] : [...(await archivedRows(library)).values()]
  const bodies = [...here.map(({ body }) => body), ...given.map(underUlid)]
  const pairs = bodies.flatMap(({ id, [FOREIGN_ID]: foreign }): [string, string][] =>
    typeof id === 'string' && typeof foreign === 'string' ? [[foreign, id]] : [],
  )
  return new Map([...(await library.foreignIds()), ...pairs])
}

function createAccount(ids: ReadonlyMap<string, string>) {
  const none = (): ImportCounts => ({ taken: 0, known: 0, changed: 0, rejected: 0 })
  const counts: Record<ImportSort, ImportCounts> = {
    ...{ entries: none(), decisions: none(), entities: none(), relations: none(), archived: none() },
  }
  const changed: Imported['changed'] = []
  const rejected: Imported['rejected'] = []
  return {
    ...{ counts, changed, rejected },
    /** Looks at each item as its collection would. */
    of<T extends { id: string }>(
      sort: ImportSort,
      form: CollectionForm<T>,
      given: readonly RecordBody[],
    ): Taking<T> {
      const items = given.flatMap((said, at): T[] => {
        const read = readItem(form, said, ids)
        if ('item' in read) return [read.item]
        counts[sort].rejected += 1
        rejected.push({ sort, at, id: typeof said['id'] === 'string' ? said['id'] : null, ...read })
        return []
      })
      return {
        items,
        linked: (item) => withLinks(item, form.links ?? [], ids) as unknown as T,
        fate(id, fate) {
          counts[sort][fate] += 1
          if (fate === 'changed') changed.push({ sort, id })
        },
      }
    },
  }
}

function readItem<T>(
  { schema, complete = (body) => body, links = [] }: Pick<CollectionForm<T>, 'schema' | 'complete' | 'links'>,
  said: RecordBody,
  ids: ReadonlyMap<string, string> = new Map(),
): { item: T } | { reason: string } {
  if (isDeeper(said, LIMITS.json_depth_max))
    return { reason: `it is nested more than ${LIMITS.json_depth_max} deep` }
  const wanted = complete(withLinks(underUlid(wellFormed(said)), links, ids))
  const read = parsedRecord(schema, wanted)
  if (!read.success) return { reason: describeParams(schema, wanted, read.error, 'the item') }
  const bytes = Buffer.byteLength(JSON.stringify(read.data))
  if (bytes <= LIMITS.record_bytes_max) return { item: read.data }
  return { reason: `it would have ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed` }
}

/** What is there under the same id decides what becomes of an item. */
function compared<T>(before: T, item: T): Fate {
  return isDeepStrictEqual(before, item) ? 'known' : 'changed'
}

/** Puts what is not here; `isThere` knows of more ways to be here than by the same id. */
function putNew<T extends { id: string }>(
  { items, fate, linked }: Taking<T>,
  here: Map<string, T>,
  put: (item: T) => Promise<void>,
  isThere: (item: T) => boolean = () => false,
): Promise<unknown> {
  const puts: Promise<void>[] = []
  for (const item of items) {
    const before = here.get(item.id)
    if (before !== undefined) fate(item.id, compared(linked(before), item))
    else if (isThere(item)) fate(item.id, 'known')
    else {
      here.set(item.id, item)
      puts.push(put(item))
      fate(item.id, 'taken')
    }
  }
  return Promise.all(puts)
}

async function takeById<T extends { id: string }>(
  collection: Collection<T>,
  taking: Taking<T>,
  isThere?: (item: T) => boolean,
): Promise<void> {
  if (taking.items.length === 0) return
  await collection.exclusive(async (held) =>
    putNew(taking, byId(await held.all()), (item) => held.put(item), isThere),
  )
}

/** Answers which of them are here under another id: an entity is meant by its name and type. */
async function takeEntities({ entities }: Library, taking: Taking<Entity>): Promise<SameAs> {
  const same_as: SameAs = {}
  if (taking.items.length === 0) return same_as
  await entities.exclusive(async (held) => {
    const all = await held.all()
    const named = new Map(all.map((entity) => [keyOf(entity), entity.id]))
    const isThere = (entity: Entity): boolean => {
      const other = named.get(keyOf(entity))
      if (other === undefined) named.set(keyOf(entity), entity.id)
      else same_as[entity.id] = other
      return other !== undefined
    }
    await putNew(taking, byId(all), (entity) => held.put(entity), isThere)
  })
  return same_as
}

/**
 * One that is led to an entity of here may be here already, by whoever drew that entity. Of the others each is
 * kept: as many are here afterwards as there were.
 */
async function takeRelations(
  { relations }: Library,
  { items, ...taking }: Taking<Relation>,
  same_as: SameAs,
): Promise<void> {
  const moved = new Set<string>()
  const led = items.map((relation) => {
    const { source, target } = relation
    const to = { ...relation, source: same_as[source] ?? source, target: same_as[target] ?? target }
    if (wayOf(to) !== wayOf(relation)) moved.add(relation.id)
    return to
  })
  const ways = new Set(moved.size === 0 ? [] : (await relations.all()).map(wayOf))
  const isThere = (relation: Relation) => moved.has(relation.id) && ways.has(wayOf(relation))
  await takeById(relations, { ...taking, items: led }, isThere)
}

/** One that was archived here is here, too. */
async function takeEntries(
  library: Library,
  taking: Taking<Entry>,
  archived: Taking<Entry>,
  dayOf: (id: string) => string | undefined,
): Promise<void> {
  if (taking.items.length + archived.items.length === 0) return
  const { entries, records } = library
  await entries.exclusive(async (held) => {
    const here = byId(await held.all())
    for (const { body } of (await archivedRows(library)).values()) {
      const read = readItem(MEMORY_FORMS.entries, body)
      if ('item' in read && !here.has(read.item.id)) here.set(read.item.id, read.item)
    }
    await putNew(taking, here, (entry) => held.put(entry))
    await putNew(archived, here, (entry) =>
      records.put(`archive/${dayOf(entry.id)}`, entry.id, entry as unknown as RecordBody),
    )
  })
}

function byId<T extends { id: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.id, item]))
}
