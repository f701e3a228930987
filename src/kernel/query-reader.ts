/** Parameters of an action as a query tells them. */
import type { Action } from './define.ts'
import { jsonSchema, type JsonSchema } from './schema.ts'

/** In the types that the schema wants. */
export type QueryReader = (query: Record<string, unknown>) => Record<string, unknown>

/**
 * A query knows only text. The declared types say what was meant; what does not fit stays text, so that
 * the strict schema names it to the caller.
 */
export function queryReader(action: Pick<Action, 'input'>): QueryReader {
  // Most actions are never asked by a query: what their fields are is found out when one is.
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

/** Where several forms fit, the first that text can stand for; a list only where it was told several times. */
function typedAs(schema: JsonSchema | undefined, value: unknown): unknown {
  const union = (schema?.['anyOf'] ?? schema?.['oneOf']) as JsonSchema[] | undefined
  if (union === undefined) return typed(schema?.['type'], value)
  if (Array.isArray(value)) {
    const list = union.find((one) => one['type'] === 'array')
    return list === undefined ? value : value.map((one) => typedAs(list['items'] as JsonSchema, one))
  }
  for (const one of union) {
    const told = one['type'] === 'array' ? value : typedAs(one, value)
    if (told !== value) return told
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
