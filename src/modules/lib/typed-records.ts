/**
 * Typed access to the records of one kind in a record store. Other programs and people write to a store as well, so
 * every record is validated when it is read, and an invalid one is quarantined with the reason.
 */
import type { z } from 'zod'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { parseRecord } from '../../contracts/validation/near-fit.ts'
import type { Log } from '../../ports/log.ts'
import type { KindRecords, RecordBody, RecordRow, RecordStore } from '../../ports/record-store.ts'
import { wellFormed } from './well-formed-json.ts'

export interface TypedRecords<T> {
  /**
   * Returns the valid records in the order of their ids, and quarantines the others. Returns the same array while
   * nothing has changed; callers must not modify it or its items.
   */
  list(): Promise<readonly T[]>
  /** Null for a missing or invalid record. */
  get(id: string): Promise<T | null>
  /** Resolves only once the record survives a crash. */
  put(item: T): Promise<void>
  /** Has no effect on a missing record. */
  remove(id: string): Promise<void>
  /** Runs work that reads and then writes, while no other caller or process writes this kind. */
  exclusive<R>(work: (held: HeldTypedRecords<T>) => Promise<R>): Promise<R>
}

/** The records of one kind during exclusive work. */
export interface HeldTypedRecords<T> {
  /** The valid records; the others stay, because the work may turn out to change nothing. */
  list(): Promise<readonly T[]>
  /** Quarantines the invalid records, also in files that readers leave as they are; for work that changes the kind. */
  quarantineInvalid(): Promise<void>
  put(item: T): Promise<void>
  remove(id: string): Promise<void>
}

/** A record as its module works with it, or the reason why it is invalid. */
export type Decoded<T> = { item: T } | { invalid: string }
/** `index` is the position of the record in the order of ids. */
export type Decode<T> = (row: RecordRow, index: number) => Decoded<T>

/** Converts between the items of a module and the records in a store. */
export interface RecordCodec<T> {
  kind: string
  /** Returns the same function for as long as it would decode these rows the same way. `held`: during exclusive work. */
  decoder(rows: readonly RecordRow[], held: boolean): Decode<T> | Promise<Decode<T>>
  encode(item: T): { id: string; body: RecordBody }
  /** False where another module owns the kind and quarantines its records. */
  quarantines?: boolean
}

interface InvalidRecord {
  id: string
  reason: string
}

interface DecodedList<T> {
  items: readonly T[]
  invalid: readonly InvalidRecord[]
}

export function createTypedRecords<T>(
  store: RecordStore,
  codec: RecordCodec<T>,
  log: Pick<Log, 'warn'>,
): TypedRecords<T> {
  const { kind } = codec
  let last: { rows: readonly RecordRow[]; decode: Decode<T>; items: readonly T[] } | null = null

  const decodeRows = async (rows: readonly RecordRow[], held: boolean): Promise<DecodedList<T>> => {
    const decode = await codec.decoder(rows, held)
    // Invalid records were reported when these rows were new.
    if (last?.rows === rows && last.decode === decode) return { items: last.items, invalid: [] }
    const { items, invalid } = decodeAll(rows, decode)
    const before = last?.items
    const unchanged = before?.length === items.length && items.every((item, index) => item === before[index])
    last = { rows, decode, items: unchanged && before !== undefined ? before : items }
    return { items: last.items, invalid }
  }

  const quarantineHeld = async (held: KindRecords): Promise<void> => {
    const rows = await held.list()
    const { invalid } = decodeAll(rows, await codec.decoder(rows, true))
    await Promise.all(invalid.map(({ id, reason }) => held.quarantine(id, reason)))
  }

  /** Validates again under the lock, because the records may have been fixed meanwhile. */
  const quarantine = async (invalid: readonly InvalidRecord[]): Promise<void> => {
    const [first] = invalid
    if (first === undefined || codec.quarantines === false) return
    if (store.readersMayWrite?.(kind) === false) {
      log.warn({ kind, count: invalid.length, first }, 'invalid records stay in a file that git tracks')
      return
    }
    try {
      await store.exclusive(kind, quarantineHeld)
    } catch (err) {
      if (!(err instanceof TurnbellError)) throw err
      log.warn({ err, kind, count: invalid.length, first }, 'invalid records could not be quarantined')
    }
  }

  const writer = (target: Pick<KindRecords, 'put'>) => (item: T) => {
    const { id, body } = codec.encode(item)
    return target.put(id, body)
  }

  return {
    async list() {
      const { items, invalid } = await decodeRows(await store.list(kind), false)
      await quarantine(invalid)
      return items
    },
    async get(id) {
      const body = await store.get(kind, id)
      if (body === null) return null
      const row = { id, body }
      const decoded = (await codec.decoder([row], false))(row, 0)
      return 'item' in decoded ? decoded.item : null
    },
    put: writer({ put: (id, body) => store.put(kind, id, body) }),
    remove: (id) => store.remove(kind, id),
    exclusive: (work) =>
      store.exclusive(kind, (held) =>
        work({
          list: async () => (await decodeRows(await held.list(), true)).items,
          quarantineInvalid: () => quarantineHeld(held),
          put: writer(held),
          remove: (id) => held.remove(id),
        }),
      ),
  }
}

function decodeAll<T>(
  rows: readonly RecordRow[],
  decode: Decode<T>,
): { items: T[]; invalid: InvalidRecord[] } {
  const items: T[] = []
  const invalid: InvalidRecord[] = []
  for (const [index, row] of rows.entries()) {
    const decoded = decode(row, index)
    if ('item' in decoded) items.push(decoded.item)
    else invalid.push({ id: row.id, reason: decoded.invalid })
  }
  return { items, invalid }
}

/** Validates a record whose fields are those of its item. `idOf` returns the id that the item carries itself. */
export function decodeWith<T>(
  schema: z.ZodType<T>,
  { id, body }: RecordRow,
  idOf: (item: T) => string,
): Decoded<T> {
  const parsed = parseRecord(schema, body)
  if (!parsed.success) return { invalid: describeParams(schema, body, parsed.error) }
  const own_id = idOf(parsed.data)
  return own_id === id ? { item: parsed.data } : { invalid: `its id is ${JSON.stringify(own_id)}` }
}

/** Codec of a kind whose records hold the fields of their items. */
export function schemaCodec<T extends object>(
  kind: string,
  schema: z.ZodType<T>,
  idOf: (item: T) => string,
): RecordCodec<T> {
  const decode: Decode<T> = (row) => decodeWith(schema, row, idOf)
  return { kind, decoder: () => decode, encode: (item) => ({ id: idOf(item), body: toBody(item) }) }
}

/** The item as a record body: without undefined fields, which JSON cannot carry, and with well-formed text. */
export function toBody(item: object): RecordBody {
  const fields = Object.entries(item as Record<string, Json | undefined>)
  return wellFormed(
    Object.fromEntries(fields.filter((field): field is [string, Json] => field[1] !== undefined)),
  )
}
