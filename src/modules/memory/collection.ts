/**
 * What a store keeps of one kind, in the form its module works with.
 *
 * A store hands out the same row for as long as its record stays as it was, so a row is looked at once, however
 * often it is listed.
 */
import type { z } from 'zod'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { parsedRecord } from '../../contracts/near-fit.ts'
import type { Log } from '../../ports/log.ts'
import type { RecordBody, RecordRow, RecordStore } from '../../ports/record-store.ts'
import { wellFormed } from '../well-formed.ts'

export interface Collection<T> {
  /** In the order of their ids. The same array for as long as nothing has changed; nobody changes what is in it. */
  all(): Promise<readonly T[]>
  get(id: string): Promise<T | null>
  put(item: T): Promise<void>
  /** Work that reads and then writes, while nobody else writes this kind. */
  exclusive<R>(work: (held: HeldCollection<T>) => Promise<R>): Promise<R>
}

export interface HeldCollection<T> {
  all(): Promise<readonly T[]>
  put(item: T): Promise<void>
  remove(id: string): Promise<void>
}

export interface CollectionForm<T> {
  kind: string
  schema: z.ZodType<T>
  /** Fills in what a person left out who wrote it by hand. */
  complete?: (body: RecordBody) => RecordBody
}

export function createCollection<T extends { id: string }>(
  records: RecordStore,
  { kind, schema, complete = (body) => body }: CollectionForm<T>,
  log: Log,
): Collection<T> {
  const known = new WeakMap<RecordBody, T | { reason: string }>()
  let last: { rows: readonly RecordRow[]; items: readonly T[] } | null = null

  const look = ({ id, body }: RecordRow): T | { reason: string } => {
    const before = known.get(body)
    if (before !== undefined) return before
    const wanted = complete(body)
    const read = parsedRecord(schema, wanted)
    const found = read.success
      ? read.data.id === id
        ? read.data
        : { reason: `it says that its id is ${JSON.stringify(read.data.id)}` }
      : { reason: describeParams(schema, wanted, read.error) }
    known.set(body, found)
    return found
  }

  const sorted = (rows: readonly RecordRow[]): { items: T[]; misfits: Misfit[] } => {
    const items: T[] = []
    const misfits: Misfit[] = []
    for (const row of rows) {
      const found = look(row)
      if ('reason' in found) misfits.push({ id: row.id, reason: String(found.reason) })
      else items.push(found)
    }
    return { items, misfits }
  }

  const itemsOf = (rows: readonly RecordRow[]): { items: readonly T[]; misfits: Misfit[] } => {
    // What does not fit was found when these were new.
    if (last?.rows === rows) return { items: last.items, misfits: [] }
    const { items, misfits } = sorted(rows)
    const same = last !== null && last.items.length === items.length
    const unchanged = same && items.every((item, index) => item === last?.items[index])
    last = { rows, items: unchanged && last !== null ? last.items : items }
    return { items: last.items, misfits }
  }

  /** What is no such record goes out of the way, with the reason, unless somebody has mended it meanwhile. */
  const setAside = async (misfits: readonly Misfit[]): Promise<void> => {
    if (misfits.length === 0) return
    try {
      await records.exclusive(kind, async (held) => {
        const { misfits: still } = sorted(await held.list())
        await Promise.all(still.map(({ id, reason }) => held.setAside(id, reason)))
      })
    } catch (err) {
      if (!(err instanceof TurnbellError)) throw err
      log.warn({ err, kind }, 'records do not fit their kind and could not be set aside')
    }
  }

  return {
    async all() {
      const { items, misfits } = itemsOf(await records.list(kind))
      await setAside(misfits)
      return items
    },
    async get(id) {
      const body = await records.get(kind, id)
      const found = body === null ? null : look({ id, body })
      return found === null || 'reason' in found ? null : found
    },
    put: (item) => records.put(kind, item.id, asBody(item)),
    exclusive: (work) =>
      records.exclusive(kind, (held) =>
        work({
          async all() {
            return itemsOf(await held.list()).items
          },
          put: (item) => held.put(item.id, asBody(item)),
          remove: (id) => held.remove(id),
        }),
      ),
  }
}

interface Misfit {
  id: string
  reason: string
}

/** What is undefined is not there: a file could not say it either. */
function asBody(item: object): RecordBody {
  const said = Object.entries(item as Record<string, Json | undefined>)
  return wellFormed(
    Object.fromEntries(said.filter((field): field is [string, Json] => field[1] !== undefined)),
  )
}
