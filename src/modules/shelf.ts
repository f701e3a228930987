/**
 * The hub's own records of one kind, as the module sees them that keeps the rules of that kind itself.
 *
 * They are kept in the form of every record: what all have in common, and the kind's own fields beside it.
 */
import type { z } from 'zod'
import type { Timestamp } from '../contracts/ids.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { RecordBody, RecordStore } from '../ports/record-store.ts'

export interface Shelf<T> {
  /** Null where there is none, or one that does not fit. */
  get(id: string): Promise<T | null>
  /** Everything that is kept, ordered by id. What does not fit is left out and reported, never fatal. */
  list(): Promise<T[]>
  /** Resolves only once it survives a crash. */
  put(item: T): Promise<void>
  /** Removing what is not there is no error. */
  remove(id: string): Promise<void>
}

export interface ShelfNeeds {
  records: RecordStore
  clock: Clock
  log: Log
}

/** How an item and its record become each other. */
export interface ShelfForm<T> {
  kind: string
  item: z.ZodType<T>
  toRecord(item: T): Kept
  /** What the item's schema then looks at. */
  fromRecord(record: Kept): unknown
}

/** Who it is by is told as `agent_id`. */
export interface Kept {
  id: string
  status: string
  agent_id: string
  created_at: Timestamp
  fields: RecordBody
}

/** Where in the project a record belongs; these belong to none. */
const SCOPE = 'project'

export function createShelf<T>({ records, clock, log }: ShelfNeeds, form: ShelfForm<T>): Shelf<T> {
  const { kind } = form
  /** Of the last change; null before anything was read. */
  let generation: number | null = null

  const read = (id: string, body: RecordBody): T | null => {
    const { id: _, kind: _kind, scope: _scope, updated_at: _at, generation: _generation, ...rest } = body
    const { status, agent_id, created_at, ...fields } = rest as RecordBody & Kept
    const parsed = form.item.safeParse(form.fromRecord({ id, status, agent_id, created_at, fields }))
    if (parsed.success) return parsed.data
    log.warn({ kind, id }, 'a record does not fit its schema and is left out')
    return null
  }

  const rows = async () => {
    const listed = await records.list(kind)
    const last = listed.reduce((most, { body }) => Math.max(most, Number(body['generation']) || 0), 0)
    generation = Math.max(generation ?? 0, last)
    return listed
  }

  return {
    async get(id) {
      const body = await records.get(kind, id)
      return body === null ? null : read(id, body)
    },
    async list() {
      return (await rows()).flatMap(({ id, body }) => read(id, body) ?? [])
    },
    async put(item) {
      if (generation === null) await rows()
      const { id, status, agent_id, created_at, fields } = form.toRecord(item)
      generation = (generation ?? 0) + 1
      await records.put(kind, id, {
        ...{ id, kind, status, scope: SCOPE, agent_id, created_at, updated_at: timestamp(clock), generation },
        ...fields,
      })
    },
    remove: (id) => records.remove(kind, id),
  }
}
