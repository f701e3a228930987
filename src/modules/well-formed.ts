import type { Json } from '../contracts/ids.ts'

/**
 * The same, where text that was cut in the middle of a character says so (U+FFFD). JSON can carry half a character,
 * and Node writes it, but other readers of the file stop at it.
 */
export function wellFormed<T extends Json>(value: T): T {
  return mended(value) as T
}

function mended(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mended)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), mended(inner)]))
}
