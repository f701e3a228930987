import type { z } from 'zod'
import { inexactNumber, InexactNumberError } from './json-numbers.ts'
import { LIMITS } from './limits.ts'

/**
 * JSON of a person's own; some editors put a mark in front of the text, which nobody sees. Throws as `JSON.parse` does,
 * and where it is nested deeper than anything that is meant: it could be read so, but not written again. Throws
 * `InexactNumberError` for a number that would be rounded.
 */
export function handwrittenJson(text: string, depth_max: number = LIMITS.json_depth_max): unknown {
  return exactJson(text.replace(/^\uFEFF/, ''), depth_max)
}

/** `wireJson` for what is stored or passed on. Also throws `InexactNumberError` for a number that would be rounded. */
export function exactJson(text: string, depth_max: number = LIMITS.wire_depth_max): unknown {
  const value = wireJson(text, depth_max)
  const inexact = inexactNumber(text)
  if (inexact !== null) throw new InexactNumberError(inexact)
  return value
}

/**
 * JSON of a program at the other end of a wire. Throws as `JSON.parse` does, and where it is nested so deep that a schema
 * that goes down into it would end this process.
 */
export function wireJson(text: string, depth_max: number = LIMITS.wire_depth_max): unknown {
  const value: unknown = JSON.parse(text)
  if (isDeeper(value, depth_max)) throw new RangeError(`it is nested more than ${depth_max} deep`)
  return value
}

/** What to say of a text that `handwrittenJson` has thrown at. */
export function whyNoJson(error: unknown): string {
  const { message } = error as Error
  return error instanceof SyntaxError ? `it is no JSON: ${message}` : message
}

/** Whether lists and mappings stand in each other more often than that. */
export function isDeeper(value: unknown, depth_max: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth_max === 0) return true
  // Asked of whatever comes over a wire: a list of what is in it would cost more than the looking.
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], depth_max - 1)) return true
  return false
}

/**
 * What a JSON text says; null where it is none, is missing, or is nested too deep. For text of others, which a schema
 * looks at next.
 */
export function jsonIn(text: string | null | undefined): unknown {
  try {
    return wireJson((text ?? 'null').replace(/^\uFEFF/, ''), LIMITS.json_depth_max)
  } catch {
    return null
  }
}

/** The same, and null where a number would be rounded. For text that is stored or passed on. */
export function exactJsonIn(text: string): unknown {
  try {
    return handwrittenJson(text)
  } catch {
    return null
  }
}

/** The same in the form that is expected; null where it has another. */
export function jsonAs<T>(form: z.ZodType<T>, text: string | null | undefined): T | null {
  return form.safeParse(jsonIn(text)).data ?? null
}
