/** Parameters of an action from the query of a URL. */
import type { Action } from './define.ts'
import { jsonSchema, type JsonSchema } from './schema.ts'

/** Converts parameters to the types of the schema. */
export type QueryReader = (query: Record<string, unknown>) => Record<string, unknown>

/**
 * The query contains only text, which is converted to the declared types. Text that does not fit stays text, so that the
 * strict schema reports it.
 */
export function queryReader(action: Pick<Action, 'input'>): QueryReader {
  // Derived on first use, because most actions are never called with a query.
  let properties: Record<string, JsonSchema> | null = null
  return (query) => {
    const fields = (properties ??= propertiesOf(action))
    return Object.fromEntries(
      Object.entries(query).map(([name, value]) => [name, typedAs(fields[name], value)]),
    )
  }
}

function propertiesOf({ input }: Pick<Action, 'input'>): Record<string, JsonSchema> {
  return (jsonSchema(input, 'input')['properties'] ?? {}) as Record<string, JsonSchema>
}

/**
 * Returns the value as the declared type. In a union, that is the first form that fits, and only a repeated parameter
 * becomes a list. Outside a union, a declared list is also read from text with commas.
 */
function typedAs(schema: JsonSchema | undefined, value: unknown): unknown {
  const union = (schema?.['anyOf'] ?? schema?.['oneOf']) as JsonSchema[] | undefined
  if (union === undefined) return typed(schema?.['type'], value)
  if (Array.isArray(value)) {
    const list = union.find((one) => one['type'] === 'array')
    return list === undefined ? value : value.map((one) => typedAs(list['items'] as JsonSchema, one))
  }
  for (const one of union) {
    const typed = one['type'] === 'array' ? value : typedAs(one, value)
    if (typed !== value) return typed
  }
  return value
}

function typed(type: unknown, value: unknown): unknown {
  if (type === 'array') {
    if (Array.isArray(value)) return value
    return typeof value === 'string' ? value.split(',') : value
  }
  if (typeof value !== 'string') return value
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}
