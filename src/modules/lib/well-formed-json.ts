/** Replaces invalid Unicode in values before they are stored. */
import type { Json } from '../../contracts/ids.ts'

/**
 * Returns the value with each lone surrogate replaced by U+FFFD. Node writes half characters into JSON, but other readers
 * of the file reject them.
 */
export function wellFormed<T extends Json>(value: T): T {
  return replaceLoneSurrogates(value) as T
}

function replaceLoneSurrogates(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(replaceLoneSurrogates)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), replaceLoneSurrogates(inner)]),
  )
}
