/** Schemas derived from the declaration of a record kind. */
import * as z from 'zod'
import { COMMON_FIELDS, RecordAgent, RecordScope, type RecordKind } from './records.ts'

type Shape = Record<string, z.ZodType>

/** Returns the statuses, the initial one first; empty if the kind has no status. */
export function statusesOf({ status }: RecordKind): string[] {
  if (status === undefined) return []
  const { initial, moves } = status
  return [...new Set([initial, ...Object.keys(moves), ...Object.values(moves).flat()])]
}

/** Returns the fields of a close. */
export function closingFields({ status }: RecordKind): Shape {
  return status?.closing?.fields ?? {}
}

/** Returns the kind's own fields of a stored record, including those of its close. */
export function ownFields(kind: RecordKind): z.ZodObject {
  return z.strictObject({ ...kind.fields.shape, ...optional(closingFields(kind)) })
}

/** Returns the schema of a new record. */
export function newRecord(kind: RecordKind): z.ZodObject {
  return z.strictObject({
    ...kind.fields.shape,
    ...optional({ scope: RecordScope, agent_id: RecordAgent }),
  })
}

/** Returns the schema of `record` in a put; with an `id` it changes that record. */
export function recordInput(kind: RecordKind): z.ZodObject {
  const statuses = statusesOf(kind)
  return z.strictObject({
    ...optional({ id: COMMON_FIELDS.id, ...(statuses.length === 0 ? {} : { status: z.enum(statuses) }) }),
    ...newRecord(kind).shape,
  })
}

/** Returns the schema of a stored record. Unknown fields are kept, because a newer version may have written them. */
export function storedRecord(kind: RecordKind): z.ZodObject {
  const statuses = statusesOf(kind)
  return z
    .looseObject({
      ...COMMON_FIELDS,
      kind: z.literal(kind.name),
      ...(statuses.length === 0 ? {} : { status: z.enum(statuses) }),
      ...ownFields(kind).shape,
    })
    .meta({ title: titleOf(kind.name) })
}

function optional(fields: Shape): Shape {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.optional()]))
}

/** Converts `test_spec` to TestSpec. */
function titleOf(name: string): string {
  return name.replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase())
}
