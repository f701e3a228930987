import type { Json } from '../../contracts/ids.ts'
import { isObject } from './is-object.ts'

/** The same JSON text for what says the same, in whatever order: by it, one is found among many at once. */
export function evenText(value: Json): string {
  if (typeof value !== 'object') return JSON.stringify(value)
  return JSON.stringify(value, (_, one: Json) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}
