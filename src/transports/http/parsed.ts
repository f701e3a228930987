/** Parses a part of a request by its schema. */
import type { z } from 'zod'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'

type Part = 'body' | 'query' | 'headers'

/** Throws `request_invalid` with the field, the value found and the values allowed. */
export function parsed<T extends z.ZodType>(schema: T, value: unknown, part: Part = 'body'): z.output<T> {
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  throw new TurnbellError('request_invalid', {
    detail: describeParams(schema, value ?? {}, result.error, part),
    hint: `Check the ${part} against /openapi.json.`,
    cause: result.error,
  })
}
