/**
 * What a store keeps of one kind, in the form its module works with.
 *
 * A store hands out the same row for as long as its record stays as it was, so a row is looked at once, however
 * often it is listed.
 */
import type { z } from 'zod'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { Ulid, type Json } from '../../contracts/ids.ts'
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
  /** Fields that hold the id of another record, or a list of such ids. */
  links?: readonly string[]
}

/**
 * The ULIDs that stand for foreign ids in one memory. `own`: the rows of a kind in the hands of exclusive work. The same map
 * while nothing has changed.
 */
export type ForeignIds = (own?: {
  kind: string
  rows: readonly RecordRow[]
}) => Promise<ReadonlyMap<string, string>>

const NONE: ReadonlyMap<string, string> = new Map()

export function createCollection<T extends { id: string }>(
  records: RecordStore,
  { kind, schema, complete = (body) => body, links = [] }: CollectionForm<T>,
  log: Log,
  foreignIds: ForeignIds = async () => NONE,
): Collection<T> {
  type Found = T | { reason: string }
  /** Of a record with foreign links, what it is with these ids. */
  const known = new WeakMap<RecordBody, { found: Found; ids: ReadonlyMap<string, string> | null }>()
  const foreign = new WeakMap<RecordBody, boolean>()
  let last: { rows: readonly RecordRow[]; ids: ReadonlyMap<string, string>; items: readonly T[] } | null =
    null

  const hasForeignLinks = (body: RecordBody): boolean => {
    const has = foreign.get(body) ?? linksIn(body, links).some((id) => !Ulid.safeParse(id).success)
    foreign.set(body, has)
    return has
  }

  const idsFor = async (rows: readonly RecordRow[], held = false): Promise<ReadonlyMap<string, string>> =>
    rows.some(({ body }) => hasForeignLinks(body)) ? foreignIds(held ? { kind, rows } : undefined) : NONE

  const look = ({ id, body }: RecordRow, ids: ReadonlyMap<string, string>): Found => {
    const before = known.get(body)
    if (before !== undefined && (before.ids === null || before.ids === ids)) return before.found
    const linked = hasForeignLinks(body)
    const wanted = complete(linked ? withLinks(body, links, ids) : body)
    const read = parsedRecord(schema, wanted)
    const found = read.success
      ? read.data.id === id
        ? read.data
        : { reason: `it says that its id is ${JSON.stringify(read.data.id)}` }
      : { reason: describeParams(schema, wanted, read.error) }
    known.set(body, { found, ids: linked ? ids : null })
    return found
  }

  const sorted = (
    rows: readonly RecordRow[],
    ids: ReadonlyMap<string, string>,
  ): { items: T[]; misfits: Misfit[] } => {
    const items: T[] = []
    const misfits: Misfit[] = []
    for (const row of rows) {
      const found = look(row, ids)
      if ('reason' in found) misfits.push({ id: row.id, reason: String(found.reason) })
      else items.push(found)
    }
    return { items, misfits }
  }

  const itemsOf = (
    rows: readonly RecordRow[],
    ids: ReadonlyMap<string, string>,
  ): { items: readonly T[]; misfits: Misfit[] } => {
    // What does not fit was found when these were new.
    if (last?.rows === rows && last.ids === ids) return { items: last.items, misfits: [] }
    const { items, misfits } = sorted(rows, ids)
    const same = last !== null && last.items.length === items.length
    const unchanged = same && items.every((item, index) => item === last?.items[index])
    last = { rows, ids, items: unchanged && last !== null ? last.items : items }
    return { items: last.items, misfits }
  }

  /** What is no such record goes out of the way, with the reason, unless somebody has mended it meanwhile. */
  const setAside = async (misfits: readonly Misfit[]): Promise<void> => {
    const [first] = misfits
    if (first === undefined) return
    if (records.readersMayWrite?.(kind) === false) {
      log.warn(
        { kind, count: misfits.length, first },
        'records do not fit their kind and stay in a tracked file',
      )
      return
    }
    try {
      await records.exclusive(kind, async (held) => {
        const rows = await held.list()
        const { misfits: still } = sorted(rows, await idsFor(rows, true))
        await Promise.all(still.map(({ id, reason }) => held.setAside(id, reason)))
      })
    } catch (err) {
      if (!(err instanceof TurnbellError)) throw err
      log.warn({ err, kind }, 'records do not fit their kind and could not be set aside')
    }
  }

  return {
    async all() {
      const rows = await records.list(kind)
      const { items, misfits } = itemsOf(rows, await idsFor(rows))
      await setAside(misfits)
      return items
    },
    async get(id) {
      const body = await records.get(kind, id)
      if (body === null) return null
      const found = look({ id, body }, await idsFor([{ id, body }]))
      return 'reason' in found ? null : found
    },
    put: (item) => records.put(kind, item.id, asBody(item)),
    exclusive: (work) =>
      records.exclusive(kind, (held) =>
        work({
          async all() {
            const rows = await held.list()
            return itemsOf(rows, await idsFor(rows, true)).items
          },
          put: (item) => held.put(item.id, asBody(item)),
          remove: (id) => held.remove(id),
        }),
      ),
  }
}

function linksIn(body: RecordBody, fields: readonly string[]): string[] {
  return fields.flatMap((field) => body[field] ?? []).filter((id) => typeof id === 'string')
}

/** The record with the ULIDs of what it links to by a foreign id. Links that lead nowhere stay as they are. */
export function withLinks(
  body: RecordBody,
  fields: readonly string[],
  ids: ReadonlyMap<string, string>,
): RecordBody {
  const led = (id: Json): Json => (typeof id === 'string' ? (ids.get(id) ?? id) : id)
  const resolved = fields.flatMap((field): [string, Json][] => {
    const value = body[field]
    if (value === undefined) return []
    return [[field, Array.isArray(value) ? value.map(led) : led(value)]]
  })
  return { ...body, ...Object.fromEntries(resolved) }
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
