/** What a caller told, in the form that a schema wants; or why it has not that form. */
import type { z } from 'zod'
import { describeParams } from './describe.ts'
import { TurnbellError } from './errors.ts'

/** Throws `params_invalid` naming field, found and allowed. */
export function fitted<T extends z.ZodType>(schema: T, params: unknown): z.output<T> {
  const parsed = safeParse(schema, params)
  if (parsed.success) return parsed.data
  throw new TurnbellError('params_invalid', {
    detail: describeParams(schema, params, parsed.error),
    cause: parsed.error,
  })
}

/** A value nested thousands of levels deep overflows the stack of any recursive reader; the caller sent it. */
function safeParse<T extends z.ZodType>(schema: T, params: unknown): z.ZodSafeParseResult<z.output<T>> {
  try {
    return schema.safeParse(params)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new TurnbellError('params_invalid', {
      detail: 'params: nested too deeply to be read',
      cause: error,
    })
  }
}
