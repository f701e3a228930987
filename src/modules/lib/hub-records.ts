/**
 * The hub's own records of one kind, for the module that owns the kind. They are stored in the common form of every
 * record, so that record queries find them too: the common fields, and next to them the kind's own.
 */
import type { z } from 'zod'
import type { Timestamp } from '../../contracts/ids.ts'
import { SCOPE_DEFAULT } from '../../contracts/memory/records.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { RecordBody, RecordStore } from '../../ports/record-store.ts'
import { createTypedRecords, type Decode, type TypedRecords } from './typed-records.ts'

/** A record without the fields that are filled in when it is stored. */
export interface CommonRecord {
  id: string
  status: string
  /** Persona or agent that the record is by. */
  agent_id: string
  created_at: Timestamp
  fields: RecordBody
}

/** Converts between an item and the common form. */
export interface CommonRecordCodec<T> {
  kind: string
  item: z.ZodType<T>
  toRecord(item: T): CommonRecord
  /** Returns the value that `item` validates. */
  fromRecord(record: CommonRecord): unknown
}

export function createHubRecords<T>(
  { records, clock, log }: { records: RecordStore; clock: Clock; log: Log },
  codec: CommonRecordCodec<T>,
): TypedRecords<T> {
  const { kind } = codec
  /** Generation of the last change; null before the first put. */
  let generation: number | null = null
  const lastGeneration = async () =>
    (await records.list(kind)).reduce((last, { body }) => Math.max(last, Number(body['generation']) || 0), 0)

  const decode: Decode<T> = ({ id, body }) => {
    const { id: _, kind: _kind, scope: _scope, updated_at: _at, generation: _generation, ...rest } = body
    const { status, agent_id, created_at, ...fields } = rest as RecordBody & CommonRecord
    const value = codec.fromRecord({ id, status, agent_id, created_at, fields })
    const parsed = codec.item.safeParse(value)
    return parsed.success
      ? { item: parsed.data }
      : { invalid: describeParams(codec.item, value, parsed.error) }
  }
  const typed = createTypedRecords<T>(
    records,
    {
      kind,
      decoder: () => decode,
      encode(item) {
        const { id, status, agent_id, created_at, fields } = codec.toRecord(item)
        generation = (generation ?? 0) + 1
        const common = { id, kind, status, scope: SCOPE_DEFAULT, agent_id, created_at }
        return { id, body: { ...common, updated_at: timestamp(clock), generation, ...fields } }
      },
    },
    log,
  )
  return {
    ...typed,
    async put(item) {
      if (generation === null) generation = Math.max(await lastGeneration(), generation ?? 0)
      await typed.put(item)
    },
  }
}
