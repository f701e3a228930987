/**
 * Imports the memory of another tool under its own ids and times.
 *
 * Existing records stay as they are, so a repeated import changes nothing, and records that were changed or archived here
 * after the first import stay so. An import detects no conflicts and publishes no warnings.
 */
import { isDeepStrictEqual } from 'node:util'
import { archivedRows } from './archived.ts'
import { entityKey, relationKey } from './merge-duplicates.ts'
import { MEMORY_FORMS, type ProjectMemory } from './project-memory.ts'
import { resolveLinks, type MemoryForm } from './record-codec.ts'
import type { TypedRecords } from '../lib/typed-records.ts'
import type { MemoryCall, MemoryResolver } from './memory-resolver.ts'
import type { MemorySearch } from './ranking.ts'
import type { PublishMemoryEvent } from './memory-events.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import type { Entity, Relation } from '../../contracts/memory/graph.ts'
import type {
  ImportCounts,
  ImportInput,
  ImportSort,
  Imported,
  SameAs,
} from '../../contracts/memory/import.ts'
import { isDeeper } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { parseRecord } from '../../contracts/validation/near-fit.ts'
import { FOREIGN_ID, withUlid } from '../../ports/foreign-id.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { wellFormed } from '../lib/well-formed-json.ts'

export interface MemoryImport {
  /** Throws `project_unknown` and `store_unavailable`. Invalid items are reported and do not block the others. */
  import(call: MemoryCall, input: ImportInput): Promise<Imported>
}

export interface ImportDeps {
  resolver: MemoryResolver
  search: Pick<MemorySearch, 'learn'>
  publish: PublishMemoryEvent
}

/** Outcome of one item. */
type Outcome = 'taken' | 'known' | 'changed'

/** The valid items of one sort, and a function to report their outcome. */
interface Batch<T> {
  items: T[]
  report: (id: string, outcome: Outcome) => void
  /** Returns the item with its links to foreign ids resolved. */
  linked: (item: T) => T
}

export function createImport({ resolver, search, publish }: ImportDeps): MemoryImport {
  return {
    async import(call, input) {
      const location = await resolver.forWriteExactly(call)
      const { memory } = location
      const account = createAccount(await foreignIdsIn(memory, input))
      const { entries, decisions, entities, relations } = MEMORY_FORMS
      const same_as = await importEntities(memory, account.of('entities', entities, input.entities))
      const redirected = { ...input.same_as, ...same_as }
      await importRelations(memory, account.of('relations', relations, input.relations), redirected)
      await importById(memory.decisions, account.of('decisions', decisions, input.decisions))
      const archived = account.of(
        'archived',
        entries,
        input.archived.map(({ entry }) => entry),
      )
      const days = new Map(input.archived.map(({ day, entry }) => [withUlid(entry)['id'], day]))
      await importEntries(memory, account.of('entries', entries, input.entries), archived, (id) =>
        days.get(id),
      )
      search.learn(memory)
      const { counts } = account
      const taken = Object.entries(counts).map(([sort, { taken: number }]) => [sort, number] as const)
      if (taken.some(([, number]) => number > 0))
        publish(call, location, 'memory.imported', Object.fromEntries(taken))
      return {
        project_id: location.project_id,
        counts,
        changed: account.changed,
        rejected: account.rejected,
        same_as,
      }
    },
  }
}

/** ULIDs by foreign id, of the items of this call and of the records in the memory and its archives. */
async function foreignIdsIn(
  memory: ProjectMemory,
  { entries, decisions, entities, relations, archived }: ImportInput,
): Promise<ReadonlyMap<string, string>> {
  const given = [...entries, ...decisions, ...entities, ...relations, ...archived.map(({ entry }) => entry)]
  const archived_here =
    entries.length + archived.length === 0 ? [] : [...(await archivedRows(memory)).values()]
  const bodies = [...archived_here.map(({ body }) => body), ...given.map(withUlid)]
  const pairs = bodies.flatMap(({ id, [FOREIGN_ID]: foreign }): [string, string][] =>
    typeof id === 'string' && typeof foreign === 'string' ? [[foreign, id]] : [],
  )
  return new Map([...(await memory.foreignIds()), ...pairs])
}

function createAccount(ids: ReadonlyMap<string, string>) {
  const none = (): ImportCounts => ({ taken: 0, known: 0, changed: 0, rejected: 0 })
  const counts: Record<ImportSort, ImportCounts> = {
    entries: none(),
    decisions: none(),
    entities: none(),
    relations: none(),
    archived: none(),
  }
  const changed: Imported['changed'] = []
  const rejected: Imported['rejected'] = []
  return {
    counts,
    changed,
    rejected,
    /** Validates each item like a stored record. */
    of<T extends { id: string }>(
      sort: ImportSort,
      form: MemoryForm<T>,
      given: readonly RecordBody[],
    ): Batch<T> {
      const items = given.flatMap((body, at): T[] => {
        const read = readItem(form, body, ids)
        if ('item' in read) return [read.item]
        counts[sort].rejected += 1
        rejected.push({ sort, at, id: typeof body['id'] === 'string' ? body['id'] : null, ...read })
        return []
      })
      return {
        items,
        linked: (item) => resolveLinks(item, form.links ?? [], ids) as unknown as T,
        report(id, outcome) {
          counts[sort][outcome] += 1
          if (outcome === 'changed') changed.push({ sort, id })
        },
      }
    },
  }
}

function readItem<T>(
  { schema, complete = (body) => body, links = [] }: Pick<MemoryForm<T>, 'schema' | 'complete' | 'links'>,
  given: RecordBody,
  ids: ReadonlyMap<string, string> = new Map(),
): { item: T } | { reason: string } {
  if (isDeeper(given, LIMITS.json_depth_max))
    return { reason: `it is nested more than ${LIMITS.json_depth_max} levels deep` }
  const body = complete(resolveLinks(withUlid(wellFormed(given)), links, ids))
  const read = parseRecord(schema, body)
  if (!read.success) return { reason: describeParams(schema, body, read.error, 'the item') }
  const bytes = Buffer.byteLength(JSON.stringify(read.data))
  if (bytes <= LIMITS.record_bytes_max) return { item: read.data }
  return { reason: `it would have ${bytes} bytes; at most ${LIMITS.record_bytes_max} are allowed` }
}

function compare<T>(before: T, item: T): Outcome {
  return isDeepStrictEqual(before, item) ? 'known' : 'changed'
}

/** Stores the items that do not exist yet; `exists` recognises items that exist under another id. */
function putNew<T extends { id: string }>(
  { items, report, linked }: Batch<T>,
  existing: Map<string, T>,
  put: (item: T) => Promise<void>,
  exists: (item: T) => boolean = () => false,
): Promise<unknown> {
  const puts: Promise<void>[] = []
  for (const item of items) {
    const before = existing.get(item.id)
    if (before !== undefined) report(item.id, compare(linked(before), item))
    else if (exists(item)) report(item.id, 'known')
    else {
      existing.set(item.id, item)
      puts.push(put(item))
      report(item.id, 'taken')
    }
  }
  return Promise.all(puts)
}

async function importById<T extends { id: string }>(
  collection: TypedRecords<T>,
  batch: Batch<T>,
  exists?: (item: T) => boolean,
): Promise<void> {
  if (batch.items.length === 0) return
  await collection.exclusive(async (held) =>
    putNew(batch, byId(await held.list()), (item) => held.put(item), exists),
  )
}

/** Imports entities and returns those that exist under another id; an entity is identified by its name and type. */
async function importEntities({ entities }: ProjectMemory, batch: Batch<Entity>): Promise<SameAs> {
  const same_as: SameAs = {}
  if (batch.items.length === 0) return same_as
  await entities.exclusive(async (held) => {
    const all = await held.list()
    const named = new Map(all.map((entity) => [entityKey(entity), entity.id]))
    const exists = (entity: Entity): boolean => {
      const other = named.get(entityKey(entity))
      if (other === undefined) named.set(entityKey(entity), entity.id)
      else same_as[entity.id] = other
      return other !== undefined
    }
    await putNew(batch, byId(all), (entity) => held.put(entity), exists)
  })
  return same_as
}

/**
 * Imports relations. A relation redirected to an entity of this memory may already exist between the same entities; every
 * other one is stored, so duplicates in the source stay duplicates.
 */
async function importRelations(
  { relations }: ProjectMemory,
  { items, ...batch }: Batch<Relation>,
  same_as: SameAs,
): Promise<void> {
  const moved = new Set<string>()
  const redirected = items.map((relation) => {
    const { source, target } = relation
    const to = { ...relation, source: same_as[source] ?? source, target: same_as[target] ?? target }
    if (relationKey(to) !== relationKey(relation)) moved.add(relation.id)
    return to
  })
  const relation_keys = new Set(moved.size === 0 ? [] : (await relations.list()).map(relationKey))
  const exists = (relation: Relation) => moved.has(relation.id) && relation_keys.has(relationKey(relation))
  await importById(relations, { ...batch, items: redirected }, exists)
}

/** Imports entries; an archived entry counts as existing. */
async function importEntries(
  memory: ProjectMemory,
  batch: Batch<Entry>,
  archived: Batch<Entry>,
  dayOf: (id: string) => string | undefined,
): Promise<void> {
  if (batch.items.length + archived.items.length === 0) return
  const { entries, records } = memory
  await entries.exclusive(async (held) => {
    const existing = byId(await held.list())
    for (const { body } of (await archivedRows(memory)).values()) {
      const read = readItem(MEMORY_FORMS.entries, body)
      if ('item' in read && !existing.has(read.item.id)) existing.set(read.item.id, read.item)
    }
    await putNew(batch, existing, (entry) => held.put(entry))
    await putNew(archived, existing, (entry) =>
      records.put(`archive/${dayOf(entry.id)}`, entry.id, entry as unknown as RecordBody),
    )
  })
}

function byId<T extends { id: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.id, item]))
}
