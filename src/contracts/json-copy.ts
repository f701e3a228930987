/** What JSON can say, told apart from all that it cannot, and copied, in one walk. */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** Undefined for what JSON cannot say. A copy: what was judged must not change in somebody else's hands. */
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
    // The one name that sets something else than a field.
    if (key === '__proto__') continue
    const own = jsonCopy(mapping[key])
    if (own === undefined) return undefined
    copy[key] = own
  }
  return copy
}

/** Neither a Date nor any other thing of a class. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
