/** What one project remembers: its entries, its decisions and its graph, each a collection over its store. */
import { decodeTime } from 'ulid'
import { entitiesAsOne, relationsAsOne } from './as-one.ts'
import { createCollection, type Collection, type ForeignIds } from './collection.ts'
import { Decision, DECISION_KIND } from '../../contracts/decision.ts'
import { Entry, ENTRY_KIND } from '../../contracts/entry.ts'
import { Entity, ENTITY_KIND, Relation, RELATION_KIND } from '../../contracts/graph.ts'
import { Ulid } from '../../contracts/ids.ts'
import type { Log } from '../../ports/log.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import { FOREIGN_ID } from '../../ports/foreign-id.ts'
import type { RecordBody, RecordRow, RecordStore } from '../../ports/record-store.ts'

export interface Library {
  records: RecordStore
  /** The project that it is of; null for the hub's own. */
  project: ProjectStore | null
  entries: Collection<Entry>
  decisions: Collection<Decision>
  entities: Collection<Entity>
  relations: Collection<Relation>
  foreignIds: ForeignIds
}

/** How each of them is read, whoever wrote it. */
export const MEMORY_FORMS = {
  entries: {
    ...{ kind: ENTRY_KIND.name, schema: Entry, complete: withTimes(['timestamp']) },
    links: ['relates_to'],
  },
  decisions: {
    ...{ kind: DECISION_KIND.name, schema: Decision, complete: withTimes(['timestamp']) },
    links: ['depends_on', 'supersedes', 'superseded_by', 'entry_id'],
  },
  entities: { kind: ENTITY_KIND.name, schema: Entity, complete: withTimes(['created_at', 'updated_at']) },
  relations: {
    ...{ kind: RELATION_KIND.name, schema: Relation, complete: withTimes(['created_at']) },
    links: ['source', 'target'],
  },
}

export function openLibrary(records: RecordStore, project: ProjectStore | null, log: Log): Library {
  const foreignIds = foreignIdsOf(records)
  const entities = createCollection(records, MEMORY_FORMS.entities, log, foreignIds)
  const relations = createCollection(records, MEMORY_FORMS.relations, log, foreignIds)
  return {
    ...{ records, project, foreignIds },
    entries: createCollection(records, MEMORY_FORMS.entries, log, foreignIds),
    decisions: createCollection(records, MEMORY_FORMS.decisions, log, foreignIds),
    entities: entitiesAsOne(entities),
    relations: relationsAsOne(relations, entities),
  }
}

/** The same map while no row of the four kinds has changed. */
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

/** An id says when it was made, and so a time that is missing; one that is written otherwise is written as all are. */
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
