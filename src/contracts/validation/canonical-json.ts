/** JSON text with sorted members, for comparing values. */
import { isObject } from './is-object.ts'

/** Returns equal text for equal JSON values, independent of member order, for use as a key. */
export function canonicalJson(value: unknown): string {
  const sorted = (one: object) => Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
  // `undefined` has no JSON text.
  return String(JSON.stringify(value, (_, one: unknown) => (isObject(one) ? sorted(one) : one)))
}
