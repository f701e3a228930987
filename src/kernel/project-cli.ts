/** The kernel as help texts of `turnbell call`. Only text; the command itself sends the call. */
import { jsonSchema, type JsonSchema } from './schema.ts'
import type { Found } from './define.ts'
import type { Registry } from './registry.ts'

export interface CliParam {
  name: string
  /** `string`, `integer`, `"a"|"b"`, `string[]`, … */
  type: string
  required: boolean
  default?: unknown
}

/** `turnbell call --help`: every facade with its actions. */
export function cliOverview(registry: Registry): string {
  return registry.facades
    .map((facade) => {
      const width = Math.max(...Object.keys(facade.actions).map((name) => name.length))
      const lines = Object.entries(facade.actions).map(
        ([name, action]) => `  ${name.padEnd(width)}  ${action.summary}`,
      )
      return [`${facade.name}: ${facade.summary}`, ...lines].join('\n')
    })
    .join('\n\n')
}

/** `turnbell call FACADE ACTION --help`. */
export function cliAction(found: Found): string {
  const { facade, name, action } = found
  const params = cliParams(found)
  const width = Math.max(0, ...params.map((param) => param.name.length))
  const lines = params.map((param) => {
    const fallback = param.default === undefined ? '' : ` (default ${JSON.stringify(param.default)})`
    return `  ${param.name.padEnd(width)}  ${param.type}${param.required ? ', required' : ''}${fallback}`
  })
  const example = action.examples?.[0]
  return [
    `turnbell call ${facade.name} ${name} [--params JSON]`,
    action.summary,
    ...(lines.length === 0 ? [] : ['', 'Parameters:', ...lines]),
    ...(example === undefined
      ? []
      : ['', 'Example:', `  turnbell call ${facade.name} ${name} --params '${JSON.stringify(example)}'`]),
  ].join('\n')
}

export function cliParams({ action }: Found): CliParam[] {
  const schema = jsonSchema(action.input, 'input')
  const required = (schema['required'] ?? []) as string[]
  return Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>).map(
    ([name, property]) => ({
      name,
      type: typeName(property),
      required: required.includes(name),
      ...('default' in property ? { default: property['default'] } : {}),
    }),
  )
}

/** A JSON Schema in the few letters that a help line has. */
export function typeName(schema: JsonSchema): string {
  const options = schema['enum']
  if (Array.isArray(options)) return options.map((option) => JSON.stringify(option)).join('|')
  if ('const' in schema) return JSON.stringify(schema['const'])
  const anyOf = schema['anyOf']
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeName(one as JsonSchema)).join('|')
  if (schema['type'] === 'array') {
    const item = typeName((schema['items'] ?? {}) as JsonSchema)
    return item.includes('|') ? `(${item})[]` : `${item}[]`
  }
  return typeof schema['type'] === 'string' ? schema['type'] : 'json'
}
