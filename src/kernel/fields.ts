/** Renders a JSON Schema for people: fields with short type names. */
import type { JsonSchema } from './schema.ts'

export interface Field {
  name: string
  /** `string`, `integer`, `"a"|"b"`, `string[]`, … */
  type: string
  required: boolean
  default?: unknown
}

/** `spelled`: nested objects are rendered with their fields; otherwise as `object`. */
export function fieldsOf(schema: JsonSchema, spelled = false): (Field & { schema: JsonSchema })[] {
  const required = (schema['required'] ?? []) as string[]
  return Object.entries(propertiesOf(schema)).map(([name, property]) => ({
    name,
    type: typeName(property, spelled),
    required: required.includes(name),
    ...('default' in property ? { default: property['default'] } : {}),
    schema: property,
  }))
}

/** Empty unless the schema is a union. */
export function unionOf({ anyOf, oneOf }: JsonSchema): JsonSchema[] {
  return (anyOf ?? oneOf ?? []) as JsonSchema[]
}

export function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  return (schema['properties'] ?? {}) as Record<string, JsonSchema>
}

function typeName(schema: JsonSchema, spelled: boolean): string {
  const parts = alternatives(schema, spelled)
  if (parts !== null) return parts.join('|')
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (schema['type'] === 'array') {
    const items = (schema['items'] ?? {}) as JsonSchema
    const item = typeName(items, spelled)
    return (alternatives(items, spelled)?.length ?? 1) > 1 ? `(${item})[]` : `${item}[]`
  }
  if (schema['type'] === 'object' && spelled) return objectName(schema)
  return typeof schema['type'] === 'string' ? schema['type'] : 'json'
}

/** Returns the alternatives of a union; null for any other schema. */
function alternatives(schema: JsonSchema, spelled: boolean): string[] | null {
  const { enum: options, type } = schema
  if (Array.isArray(options)) return options.map((option) => JSON.stringify(option))
  const union = unionOf(schema)
  if (union.length > 0) return union.map((one) => typeName(one, spelled))
  return Array.isArray(type) ? type.map((one) => typeName({ ...schema, type: one as string }, spelled)) : null
}

function objectName(schema: JsonSchema): string {
  if (typeof schema['title'] === 'string') return schema['title']
  const fields = fieldsOf(schema, true)
  if (fields.length > 0) {
    return `{${fields.map(({ name, type, required }) => `${name}${required ? '' : '?'}: ${type}`).join(', ')}}`
  }
  const values = schema['additionalProperties']
  return typeof values === 'object' && values !== null
    ? `{…: ${typeName(values as JsonSchema, true)}}`
    : 'object'
}

/** `1 to 9`, `at most 64 characters`, `1 to 1000 entries, each matching …`; empty without bounds. */
export function boundsOf(schema: JsonSchema): string {
  const [one, ...more] = unionOf(schema).filter(({ type }) => type !== 'null')
  if (one !== undefined) return more.length === 0 ? boundsOf(one) : ''
  const types = [schema['type']].flat().filter((type) => type !== 'null')
  switch (types[0]) {
    case 'integer':
    case 'number':
      return range(schema['minimum'], schema['maximum'], '')
    case 'string': {
      const length = range(schema['minLength'], schema['maxLength'], ' characters')
      const pattern = typeof schema['pattern'] === 'string' ? `\`${schema['pattern']}\`` : ''
      return [length, pattern].filter(Boolean).join(', ')
    }
    case 'array': {
      const each = boundsOf((schema['items'] ?? {}) as JsonSchema)
      const entries = range(schema['minItems'], schema['maxItems'], ' entries')
      return [entries, each === '' ? '' : `each ${each}`].filter(Boolean).join(', ')
    }
    default:
      return ''
  }
}

function range(least: unknown, most: unknown, unit: string): string {
  if (typeof least === 'number' && typeof most === 'number') return `${least} to ${most}${unit}`
  if (typeof least === 'number') return `${least} or more${unit}`
  return typeof most === 'number' ? `at most ${most}${unit}` : ''
}
