/** Validation and copying of JSON values in one pass. */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/**
 * Returns a copy, or undefined if the value is not JSON. A copy, because the validated value must not be changed by its
 * owner afterwards.
 */
export function jsonCopy(value: unknown): JsonValue | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (Array.isArray(value)) return listCopy(value)
  return isPlain(value) ? mappingCopy(value) : undefined
}

function listCopy(list: readonly unknown[]): JsonValue[] | undefined {
  const copy: JsonValue[] = []
  for (const entry of list) {
    const own = jsonCopy(entry)
    if (own === undefined) return undefined
    copy.push(own)
  }
  return copy
}

function mappingCopy(mapping: Readonly<Record<string, unknown>>): Record<string, JsonValue> | undefined {
  const copy: Record<string, JsonValue> = {}
  for (const key of Object.keys(mapping)) {
    // Assigning this name would set the prototype.
    if (key === '__proto__') continue
    const own = jsonCopy(mapping[key])
    if (own === undefined) return undefined
    copy[key] = own
  }
  return copy
}

/** Excludes instances of classes, such as Date. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
