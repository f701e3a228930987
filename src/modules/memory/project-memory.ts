/** The memory of one project: typed access to its entries, decisions and graph in the project's store. */
import { decodeTime } from 'ulid'
import { mergeEntities, mergeRelations } from './merge-duplicates.ts'
import { createMemoryCodec, type ForeignIds, type MemoryForm } from './record-codec.ts'
import { createTypedRecords, type TypedRecords } from '../lib/typed-records.ts'
import { Decision, DECISION_KIND } from '../../contracts/memory/decision.ts'
import { Entry, ENTRY_KIND } from '../../contracts/memory/entry.ts'
import { Entity, ENTITY_KIND, Relation, RELATION_KIND } from '../../contracts/memory/graph.ts'
import { Ulid } from '../../contracts/ids.ts'
import type { Log } from '../../ports/log.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import { FOREIGN_ID } from '../../ports/foreign-id.ts'
import type { RecordBody, RecordRow, RecordStore } from '../../ports/record-store.ts'

export interface ProjectMemory {
  records: RecordStore
  /** Null for the hub's own memory. */
  project: ProjectStore | null
  entries: TypedRecords<Entry>
  decisions: TypedRecords<Decision>
  entities: TypedRecords<Entity>
  relations: TypedRecords<Relation>
  foreignIds: ForeignIds
}

/** Schemas and completions of the four kinds. */
export const MEMORY_FORMS = {
  entries: {
    kind: ENTRY_KIND.name,
    schema: Entry,
    complete: withTimes(['timestamp']),
    links: ['relates_to'],
  },
  decisions: {
    kind: DECISION_KIND.name,
    schema: Decision,
    complete: withTimes(['timestamp']),
    links: ['depends_on', 'supersedes', 'superseded_by', 'entry_id'],
  },
  entities: { kind: ENTITY_KIND.name, schema: Entity, complete: withTimes(['created_at', 'updated_at']) },
  relations: {
    kind: RELATION_KIND.name,
    schema: Relation,
    complete: withTimes(['created_at']),
    links: ['source', 'target'],
  },
}

export function openProjectMemory(
  records: RecordStore,
  project: ProjectStore | null,
  log: Log,
): ProjectMemory {
  const foreignIds = foreignIdsOf(records)
  const typed = <T extends { id: string }>(form: MemoryForm<T>): TypedRecords<T> =>
    createTypedRecords(records, createMemoryCodec(form, foreignIds), log)
  const entities = typed(MEMORY_FORMS.entities)
  const relations = typed(MEMORY_FORMS.relations)
  return {
    records,
    project,
    foreignIds,
    entries: typed(MEMORY_FORMS.entries),
    decisions: typed(MEMORY_FORMS.decisions),
    entities: mergeEntities(entities),
    relations: mergeRelations(relations, entities),
  }
}

/** Returns the same map while no row of the four kinds has changed. */
function foreignIdsOf(records: RecordStore): ForeignIds {
  const kinds = Object.values(MEMORY_FORMS).map(({ kind }) => kind)
  let last: { rows: readonly (readonly RecordRow[])[]; ids: ReadonlyMap<string, string> } | null = null
  return async (own) => {
    const rows = await Promise.all(
      kinds.map(async (kind) => (own?.kind === kind ? own.rows : records.list(kind))),
    )
    if (last !== null && rows.every((some, at) => some === last?.rows[at])) return last.ids
    const pairs = rows.flat().flatMap(({ id, body }): [string, string][] => {
      const foreign = body[FOREIGN_ID]
      return typeof foreign === 'string' ? [[foreign, id]] : []
    })
    const before = last?.ids
    const same = before?.size === pairs.length && pairs.every(([foreign, id]) => before.get(foreign) === id)
    last = { rows, ids: same && before !== undefined ? before : new Map(pairs) }
    return last.ids
  }
}

/** Fills in missing times from the id, which contains the time of creation, and normalises times in other formats. */
function withTimes(fields: readonly string[]): (body: RecordBody) => RecordBody {
  return (body) => {
    const times: Record<string, string> = {}
    for (const field of fields) {
      const time = timeOf(body[field]) ?? timeOfId(body['id'])
      if (time !== null && time !== body[field]) times[field] = time
    }
    return Object.keys(times).length === 0 ? body : { ...body, ...times }
  }
}

function timeOf(value: unknown): string | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

function timeOfId(id: unknown): string | null {
  return Ulid.safeParse(id).success ? new Date(decodeTime(id as string)).toISOString() : null
}
