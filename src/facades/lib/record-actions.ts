/** Actions derived from a kind of record. A facade that only has records is a table of them; the records module runs them. */
import * as z from 'zod'
import { defineAction, type Action, type Alias, READERS } from '../../kernel/define.ts'
import type { ErrorCode } from '../../contracts/errors/errors.ts'
import { type Json, Ulid } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { closingFields, newRecord, statusesOf, storedRecord } from '../../contracts/memory/record-schemas.ts'
import {
  FILTER_WORDS,
  PAGE_FIELDS,
  RecordAgent,
  RecordPage,
  RecordScope,
  type RecordKind,
} from '../../contracts/memory/records.ts'

type Fields = Record<string, Json>
type Shape = Record<string, z.ZodType>

/** Additions to the declaration of an action. */
interface More {
  aliases?: readonly (string | Alias)[]
}

export const RECORD_READ_ERRORS = ['project_unknown', 'store_unavailable'] as const
export const RECORD_WRITE_ERRORS = [...RECORD_READ_ERRORS, 'portfolio_readonly'] as const
const CHANGE_ERRORS: readonly ErrorCode[] = [...RECORD_WRITE_ERRORS, 'record_unknown', 'record_too_large']

export const RECORD_WRITERS = ['agent'] as const

/** Puts a new record. `omit`: fields that only turnbell fills in. */
export function create(
  kind: RecordKind,
  summary: string,
  { omit = [], ...more }: More & { omit?: readonly string[] } = {},
): Action {
  const given = Object.entries(newRecord(kind).shape).filter(([name]) => !omit.includes(name))
  return defineAction({
    ...{ summary, ...more, mutates: true, allow: RECORD_WRITERS },
    ...(kind.unique === undefined ? {} : { idempotent: true }),
    ...(kind.examples === undefined ? {} : { examples: kind.examples }),
    input: z.strictObject(Object.fromEntries(given)),
    output: storedRecord(kind),
    errors: CHANGE_ERRORS,
    handle: (record, call) => call.modules.records.put(call, { kind: kind.name, record: record as Fields }),
  })
}

/** Finds records by their fields. `by`: a field that is required. `always`: fields with a fixed value. */
export function query(
  kind: RecordKind,
  summary: string,
  { by, always = {}, ...more }: More & { by?: string; always?: Fields; examples?: readonly Fields[] } = {},
): Action {
  const fields = Object.entries(filterFields(kind)).filter(([name]) => !(name in always))
  return defineAction({
    ...{ summary, ...more, mutates: false, allow: READERS },
    input: z.strictObject({
      ...Object.fromEntries(fields.map(([name, field]) => [name, name === by ? field : field.optional()])),
      ...FILTER_WORDS,
      ...PAGE_FIELDS,
    }),
    output: RecordPage.extend({ records: z.array(storedRecord(kind)) }),
    errors: RECORD_READ_ERRORS,
    handle: ({ sort, limit, after, ...fields }, call) => {
      const filter = { ...fields, ...always } as never
      return call.modules.records.query(call, { kind: kind.name, filter, sort, limit, after })
    },
  })
}

/** Reads a record by its id. */
export function read(kind: RecordKind, summary: string, more: More = {}): Action {
  return defineAction({
    ...{ summary, ...more, mutates: false, allow: READERS },
    input: z.strictObject({ id: Ulid }),
    examples: [{ id: ID_SHOWN }],
    output: storedRecord(kind),
    errors: [...RECORD_READ_ERRORS, 'record_unknown'],
    handle: ({ id }, call) => call.modules.records.get(call, { kind: kind.name, id }),
  })
}

/** Closes a record, with the fields of the kind's closing transition. */
export function close(
  kind: RecordKind,
  summary: string,
  { example = {}, ...more }: More & { example?: Fields } = {},
): Action {
  return defineAction({
    ...{ summary, ...more, mutates: true, idempotent: true, allow: RECORD_WRITERS },
    input: z.strictObject({ id: Ulid, ...closingFields(kind) }),
    examples: [{ id: ID_SHOWN, ...example }],
    output: storedRecord(kind),
    errors: [...CHANGE_ERRORS, 'transition_forbidden'],
    handle: ({ id, ...fields }, call) => call.modules.records.close(call, { kind: kind.name, id, fields }),
  })
}

/** Adds to a number of the record. Default: 1. */
export function increment(kind: RecordKind, field: string, summary: string, more: More = {}): Action {
  return defineAction({
    ...{ summary, ...more, mutates: true, allow: RECORD_WRITERS },
    input: z.strictObject({ id: Ulid, by: z.number().int().min(1).max(INCREMENT_MAX).default(1) }),
    examples: [{ id: ID_SHOWN }],
    output: storedRecord(kind),
    errors: CHANGE_ERRORS,
    handle: ({ id, by }, call) => call.modules.records.increment(call, { kind: kind.name, id, field, by }),
  })
}

const INCREMENT_MAX = 1_000

/** Id for examples. */
const ID_SHOWN = '01JZ0000000000000000000000'

/** Schema of a filter: one or several values of a field, or an entry of a list. Objects cannot be filtered. */
function filterFields(kind: RecordKind): Shape {
  const statuses = statusesOf(kind)
  const own: Shape = { ...kind.fields.shape, ...closingFields(kind) }
  const values = {
    ...(statuses.length === 0 ? {} : { status: z.enum(statuses) }),
    ...{ scope: RecordScope, agent_id: RecordAgent },
    ...Object.fromEntries(Object.entries(own).map(([name, field]) => [name, valueOf(field)])),
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null ? [] : [[name, z.union([value, z.array(value).min(1).max(LIMITS.filter_values_max)])]],
    ),
  )
}

/** Returns null for a field that cannot be filtered. */
function valueOf(field: z.ZodType): z.ZodType | null {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault || field instanceof z.ZodNullable) {
    return valueOf(field.unwrap() as z.ZodType)
  }
  if (field instanceof z.ZodArray) return valueOf(field.element as z.ZodType)
  if (field instanceof z.ZodEnum || field instanceof z.ZodBoolean) return field
  if (field instanceof z.ZodString) return z.string()
  return field instanceof z.ZodNumber ? z.number() : null
}
