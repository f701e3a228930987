/** What one project remembers: its entries, its decisions and its graph, each a collection over its store. */
import { decodeTime } from 'ulid'
import { entitiesAsOne, relationsAsOne } from './as-one.ts'
import { createCollection, type Collection } from './collection.ts'
import { Decision, DECISION_KIND } from '../../contracts/decision.ts'
import { Entry, ENTRY_KIND } from '../../contracts/entry.ts'
import { Entity, ENTITY_KIND, Relation, RELATION_KIND } from '../../contracts/graph.ts'
import { Ulid } from '../../contracts/ids.ts'
import type { Log } from '../../ports/log.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import type { RecordBody, RecordStore } from '../../ports/record-store.ts'

export interface Library {
  records: RecordStore
  /** The project that it is of; null for the hub's own. */
  project: ProjectStore | null
  entries: Collection<Entry>
  decisions: Collection<Decision>
  entities: Collection<Entity>
  relations: Collection<Relation>
}

/** How each of them is read, whoever wrote it. */
export const MEMORY_FORMS = {
  entries: { kind: ENTRY_KIND.name, schema: Entry, complete: withTimes(['timestamp']) },
  decisions: { kind: DECISION_KIND.name, schema: Decision, complete: withTimes(['timestamp']) },
  entities: { kind: ENTITY_KIND.name, schema: Entity, complete: withTimes(['created_at', 'updated_at']) },
  relations: { kind: RELATION_KIND.name, schema: Relation, complete: withTimes(['created_at']) },
}

export function openLibrary(records: RecordStore, project: ProjectStore | null, log: Log): Library {
  const entities = createCollection(records, MEMORY_FORMS.entities, log)
  const relations = createCollection(records, MEMORY_FORMS.relations, log)
  return {
    ...{ records, project },
    entries: createCollection(records, MEMORY_FORMS.entries, log),
    decisions: createCollection(records, MEMORY_FORMS.decisions, log),
    entities: entitiesAsOne(entities),
    relations: relationsAsOne(relations, entities),
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
