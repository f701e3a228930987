/**
 * Codec for the records of a project memory, which people, git and other tools write as well: fills in fields that a
 * hand-written record lacks, and resolves links by foreign ids.
 *
 * A store returns the same row while its record is unchanged, so each row is decoded once, however often it is listed.
 */
import type { z } from 'zod'
import { Ulid, type Json } from '../../contracts/ids.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'
import { decodeWith, toBody, type Decode, type Decoded, type RecordCodec } from '../lib/typed-records.ts'

export interface MemoryForm<T> {
  kind: string
  schema: z.ZodType<T>
  /** Fills in fields that a person left out in a record written by hand. */
  complete?: (body: RecordBody) => RecordBody
  /** Fields that hold the id of another record, or a list of such ids. */
  links?: readonly string[]
}

/**
 * Returns the ULIDs of the records that have a foreign id in one memory, by that id; the same map while nothing has
 * changed. `own`: the rows of a kind during exclusive work on it.
 */
export type ForeignIds = (own?: {
  kind: string
  rows: readonly RecordRow[]
}) => Promise<ReadonlyMap<string, string>>

const NO_IDS: ReadonlyMap<string, string> = new Map()

export function createMemoryCodec<T extends { id: string }>(
  { kind, schema, complete = (body) => body, links = [] }: MemoryForm<T>,
  foreignIds: ForeignIds,
): RecordCodec<T> {
  /** `ids` is null for a record without foreign links, which decodes the same with any ids. */
  const decoded_rows = new WeakMap<
    RecordBody,
    { decoded: Decoded<T>; ids: ReadonlyMap<string, string> | null }
  >()
  const foreign = new WeakMap<RecordBody, boolean>()
  let last: { ids: ReadonlyMap<string, string>; decode: Decode<T> } | null = null

  const hasForeignLinks = (body: RecordBody): boolean => {
    const has = foreign.get(body) ?? linksIn(body, links).some((id) => !Ulid.safeParse(id).success)
    foreign.set(body, has)
    return has
  }

  const decodeRow = ({ id, body }: RecordRow, ids: ReadonlyMap<string, string>): Decoded<T> => {
    const before = decoded_rows.get(body)
    if (before !== undefined && (before.ids === null || before.ids === ids)) return before.decoded
    const foreign_links = hasForeignLinks(body)
    const completed = complete(foreign_links ? resolveLinks(body, links, ids) : body)
    const decoded = decodeWith(schema, { id, body: completed }, (item) => item.id)
    decoded_rows.set(body, { decoded, ids: foreign_links ? ids : null })
    return decoded
  }

  return {
    kind,
    async decoder(rows, held) {
      const some_foreign = rows.some(({ body }) => hasForeignLinks(body))
      const ids = some_foreign ? await foreignIds(held ? { kind, rows } : undefined) : NO_IDS
      if (last?.ids !== ids) last = { ids, decode: (row) => decodeRow(row, ids) }
      return last.decode
    },
    encode: (item) => ({ id: item.id, body: toBody(item) }),
  }
}

function linksIn(body: RecordBody, fields: readonly string[]): string[] {
  return fields.flatMap((field) => body[field] ?? []).filter((id) => typeof id === 'string')
}

/** Returns the record with the ULIDs of the records it links to by a foreign id. Unknown ids stay as they are. */
export function resolveLinks(
  body: RecordBody,
  fields: readonly string[],
  ids: ReadonlyMap<string, string>,
): RecordBody {
  const resolve = (id: Json): Json => (typeof id === 'string' ? (ids.get(id) ?? id) : id)
  const resolved = fields.flatMap((field): [string, Json][] => {
    const value = body[field]
    if (value === undefined) return []
    return [[field, Array.isArray(value) ? value.map(resolve) : resolve(value)]]
  })
  return { ...body, ...Object.fromEntries(resolved) }
}
