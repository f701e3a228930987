/** Validation of a call's parameters. */
import type { z } from 'zod'
import { describeParams } from './describe-issues.ts'
import { TurnbellError } from '../errors/errors.ts'
import { jsonInParams } from './json.ts'
import { InexactNumberError } from './json-numbers.ts'
import { parseLeniently } from './near-fit.ts'

/** Throws `params_invalid` with field, value and allowed values. */
export function parseParams<T extends z.ZodType>(schema: T, params: unknown): z.output<T> {
  const parsed = safeParse(schema, params)
  if (parsed.success) return parsed.data
  throw invalidParams(schema, params, parsed.error)
}

/**
 * Like `parseParams`, and converts scalars and lists written as text if the schema does not accept the text. `note`
 * lists the conversions; undefined if there were none.
 */
export function parseParamsLeniently<T extends z.ZodType>(
  schema: T,
  params: unknown,
): { value: z.output<T>; note: string | undefined } {
  const whole = typeof params === 'string' ? paramsIn(params) : params
  const { parsed, params: last, taken } = parseLeniently((given) => safeParse(schema, given), whole)
  if (!parsed.success) throw invalidParams(schema, last, parsed.error)
  return { value: parsed.data, note: taken.length === 0 ? undefined : taken.join('; ') }
}

/** Parses all parameters from one JSON text; returns the text itself if it is invalid. */
function paramsIn(text: string): unknown {
  try {
    return jsonInParams(text)
  } catch (error) {
    if (!(error instanceof InexactNumberError)) return text
    throw new TurnbellError('params_invalid', { detail: error.message, cause: error })
  }
}

function invalidParams(schema: z.ZodType, params: unknown, error: z.ZodError): TurnbellError {
  return new TurnbellError('params_invalid', { detail: describeParams(schema, params, error), cause: error })
}

/** A value nested thousands of levels deep overflows the stack of a recursive validator. */
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
