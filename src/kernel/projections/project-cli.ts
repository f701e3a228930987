/** The kernel as help texts of `turnbell call`. Only text; the command itself sends the call. */
import type { Found } from '../define.ts'
import { fieldsOf, type Field } from '../fields.ts'
import type { Registry } from '../registry.ts'
import { jsonSchema } from '../schema.ts'

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
    `turnbell call ${facade.name} ${name} [--params JSON] [--scope PROJECT]`,
    action.summary,
    ...(lines.length === 0 ? [] : ['', 'Parameters:', ...lines]),
    ...(example === undefined
      ? []
      : ['', 'Example:', `  turnbell call ${facade.name} ${name} --params '${JSON.stringify(example)}'`]),
  ].join('\n')
}

/** The parameters of an action, in the order of its schema. */
export function cliParams({ action }: Found): Field[] {
  return fieldsOf(jsonSchema(action.input, 'input'))
}
