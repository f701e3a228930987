/** Parses JSON from files, requests and other programs, with limits on its depth and its number of values. */
import type { z } from 'zod'
import type { Json } from '../ids.ts'
import { inexactNumber, InexactNumberError } from './json-numbers.ts'
import { LIMITS } from '../limits/limits.ts'

/**
 * Parses JSON written by a person; a byte order mark is removed. Throws like `JSON.parse`, for too deep nesting, which
 * could not be serialized again, and `InexactNumberError` for a number that would be rounded.
 */
export function handwrittenJson(text: string, depth_max: number = LIMITS.json_depth_max): unknown {
  return exactJson(text.replace(/^\uFEFF/, ''), depth_max)
}

/**
 * `wireJson` for data that is stored or forwarded. Also throws `InexactNumberError` for a number that would be rounded.
 */
export function exactJson(text: string, depth_max: number = LIMITS.wire_depth_max): unknown {
  const value = wireJson(text, depth_max)
  const inexact = inexactNumber(text)
  if (inexact !== null) throw new InexactNumberError(inexact)
  return value
}

/** `exactJson` for a text among parameters. Also throws if it has more values than a body may have. */
export function jsonInParams(text: string): unknown {
  const value = exactJson(text)
  if (hasMoreValues(value, LIMITS.wire_values_max))
    throw new RangeError(`the value has more than ${LIMITS.wire_values_max} values`)
  return value
}

/**
 * Parses JSON from another program. Throws like `JSON.parse`, and for nesting so deep that a recursive schema would
 * overflow the stack.
 */
export function wireJson(text: string, depth_max: number = LIMITS.wire_depth_max): unknown {
  const value: unknown = JSON.parse(text)
  if (isDeeper(value, depth_max)) throw new RangeError(`the value is nested more than ${depth_max} deep`)
  return value
}

/** Describes an error thrown by `handwrittenJson`. */
export function jsonErrorText(error: unknown): string {
  const { message } = error as Error
  return error instanceof SyntaxError ? `the text is not valid JSON: ${message}` : message
}

/** Whether lists and objects are nested deeper than that. */
export function isDeeper(value: unknown, depth_max: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth_max === 0) return true
  // Avoids an array of keys, because this runs for every message.
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], depth_max - 1)) return true
  return false
}

/**
 * Whether the value has more values than that: a megabyte of text can have hundreds of thousands, each taking many
 * times the memory of its text.
 */
export function hasMoreValues(value: unknown, values_max: number): boolean {
  return valuesLeft(value, values_max, LIMITS.wire_depth_max) < 0
}

function valuesLeft(value: unknown, values_max: number, depth_max: number): number {
  let left = values_max - 1
  if (typeof value !== 'object' || value === null || depth_max === 0) return left
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = valuesLeft(value[at], left, depth_max - 1)
    return left
  }
  for (const key in value) {
    left = valuesLeft((value as Record<string, unknown>)[key], left, depth_max - 1)
    if (left < 0) return left
  }
  return left
}

/** Estimates the size in JSON without serializing. */
export function roughBytes(value: Json): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let bytes = 2
  if (Array.isArray(value)) for (const one of value) bytes += roughBytes(one) + 1
  else for (const key in value) bytes += key.length + 4 + roughBytes(value[key] as Json)
  return bytes
}

/** Returns the reason why a value from outside is not processed, or null. */
export function sizeProblem(value: unknown): string | null {
  // Checked first, because it bounds the other check.
  if (hasMoreValues(value, LIMITS.wire_values_max))
    return `the value has more than ${LIMITS.wire_values_max} values`
  return isDeeper(value, LIMITS.wire_depth_max)
    ? `the value is nested more than ${LIMITS.wire_depth_max} deep`
    : null
}

/** Parses a text that a schema validates next. Returns null if it is missing, invalid or nested too deep. */
export function parseJsonOrNull(text: string | null | undefined): unknown {
  try {
    return wireJson((text ?? 'null').replace(/^\uFEFF/, ''), LIMITS.json_depth_max)
  } catch {
    return null
  }
}

/** The same, and null if a number would be rounded. For text that is stored or forwarded. */
export function parseExactJsonOrNull(text: string): unknown {
  try {
    return handwrittenJson(text)
  } catch {
    return null
  }
}

/** Parses and validates a text. Returns null if it does not match. */
export function parseJsonAs<T>(form: z.ZodType<T>, text: string | null | undefined): T | null {
  return form.safeParse(parseJsonOrNull(text)).data ?? null
}
