/** A part of a request in the form that a schema wants. */
import type { z } from 'zod'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'

type Part = 'body' | 'query' | 'headers'

/** Throws `request_invalid` naming field, found and allowed. */
export function parsed<T extends z.ZodType>(schema: T, value: unknown, part: Part = 'body'): z.output<T> {
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  throw new TurnbellError('request_invalid', {
    detail: describeParams(schema, value ?? {}, result.error, part),
    hint: `Check the ${part} against /openapi.json.`,
    cause: result.error,
  })
}
