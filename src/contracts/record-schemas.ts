/** What follows from the declaration of a kind: the form of its records, on their way in and where they are kept. */
import * as z from 'zod'
import { COMMON_FIELDS, RecordAgent, RecordScope, type RecordKind } from './records.ts'

type Shape = Record<string, z.ZodType>

/** The initial one first; none where the kind has no status. */
export function statusesOf({ status }: RecordKind): string[] {
  if (status === undefined) return []
  const { initial, moves } = status
  return [...new Set([initial, ...Object.keys(moves), ...Object.values(moves).flat()])]
}

/** What is told with a close. */
export function closingFields({ status }: RecordKind): Shape {
  return status?.closing?.fields ?? {}
}

/** The kind's own fields once a record is there: those of its closing included. */
export function ownFields(kind: RecordKind): z.ZodObject {
  return z.strictObject({ ...kind.fields.shape, ...optional(closingFields(kind)) })
}

/** What a new record is made from. */
export function newRecord(kind: RecordKind): z.ZodObject {
  return z.strictObject({
    ...kind.fields.shape,
    ...optional({ scope: RecordScope, agent_id: RecordAgent }),
  })
}

/** What a put takes as `record`: with an `id` it changes that one. */
export function recordInput(kind: RecordKind): z.ZodObject {
  const statuses = statusesOf(kind)
  return z.strictObject({
    ...optional({ id: COMMON_FIELDS.id, ...(statuses.length === 0 ? {} : { status: z.enum(statuses) }) }),
    ...newRecord(kind).shape,
  })
}

/** What is kept. Fields that it does not know are kept as well: a newer turnbell knows them. */
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

/** `test_spec` is a TestSpec. */
function titleOf(name: string): string {
  return name.replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase())
}
