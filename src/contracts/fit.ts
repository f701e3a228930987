/** What a caller told, in the form that a schema wants; or why it has not that form. */
import type { z } from 'zod'
import { describeParams } from './describe.ts'
import { TurnbellError } from './errors.ts'
import { exactJson } from './json.ts'
import { InexactNumberError } from './json-numbers.ts'
import { nearlyFitted } from './near-fit.ts'

/** Throws `params_invalid` naming field, found and allowed. */
export function fitted<T extends z.ZodType>(schema: T, params: unknown): z.output<T> {
  const parsed = safeParse(schema, params)
  if (parsed.success) return parsed.data
  throw misfit(schema, params, parsed.error)
}

/**
 * As `fitted`, and takes scalars and lists that are written as text where the schema cannot mean the text. `note` tells
 * what was taken as what; undefined if all fitted as it was.
 */
export function fittedAsMeant<T extends z.ZodType>(
  schema: T,
  params: unknown,
): { value: z.output<T>; note: string | undefined } {
  const whole = typeof params === 'string' ? paramsIn(params) : params
  const { parsed, params: last, taken } = nearlyFitted((given) => safeParse(schema, given), whole)
  if (!parsed.success) throw misfit(schema, last, parsed.error)
  return { value: parsed.data, note: taken.length === 0 ? undefined : taken.join('; ') }
}

/** All parameters as one JSON text; the text itself if it is none. */
function paramsIn(text: string): unknown {
  try {
    return exactJson(text)
  } catch (error) {
    if (!(error instanceof InexactNumberError)) return text
    throw new TurnbellError('params_invalid', { detail: error.message, cause: error })
  }
}

function misfit(schema: z.ZodType, params: unknown, error: z.ZodError): TurnbellError {
  return new TurnbellError('params_invalid', { detail: describeParams(schema, params, error), cause: error })
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
