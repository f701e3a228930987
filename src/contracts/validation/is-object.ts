/** Returns whether the value is an object and not a list. */
export function isObject<T = unknown>(value: unknown): value is Record<string, T> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
