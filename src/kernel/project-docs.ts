/** The kernel as docs/reference.md. Generated; never edited by hand. */
import type { Facade, Found } from './define.ts'
import { boundsOf, fieldsOf, propertiesOf, unionOf } from './fields.ts'
import type { Registry } from './registry.ts'
import { jsonSchema, type JsonSchema } from './schema.ts'
import { ERRORS } from '../contracts/error-catalogue.ts'

/** The objects that answers have in common, by the titles that their declarations give them. */
type Forms = ReadonlyMap<string, JsonSchema>

/** Markdown, ending with one newline; the same bytes for the same declarations. */
export function projectDocs(registry: Registry): string {
  const forms = formsOf(registry)
  const sections = registry.facades.flatMap((facade) => [
    `## ${facade.name}`,
    facadeFacts(facade),
    ...registry.actions
      .filter((found) => found.facade === facade)
      .flatMap((found) => actionSection(found, forms)),
  ])
  return `${[
    '# Reference',
    INTRODUCTION,
    contents(registry, forms),
    ...sections,
    ...formSections(forms),
    '## Errors',
    errorTable(),
  ].join('\n\n')}\n`
}

const INTRODUCTION = [
  'Generated from the facades in `src/facades`; do not edit.',
  '',
  'Every action is reachable as an MCP tool, as `POST /api/<facade>/<action>` (and GET where it changes',
  'nothing), as a `call` frame on `/ws` and as `turnbell call <facade> <action>`. The operator may call all of',
  'them. In an answer a field with `?` may be missing.',
  '',
  'Records, git and programs are about the project that the call names: `X-Scope` over HTTP, `_meta.scope` over',
  'MCP, `context.scope` on `/ws`, `--scope` on the command line. It is an id, an alias, or a directory, which means the',
  'innermost project around it: one that the hub knows, or the nearest directory upwards that has a `.turnbell`. Where',
  'there is neither, the operator means the root of the git work tree, else the directory itself, and others are refused.',
  'A directory whose `.turnbell` is a home of turnbell is no project. Without a scope they are about the project of the',
  'calling persona; without that, records are kept with the hub, and what needs a directory is refused. `portfolio` reads',
  'the records of every project. What is about none of these does not look at the scope.',
].join('\n')

function contents(registry: Registry, forms: Forms): string {
  const facades = registry.facades.map((facade) => {
    const actions = Object.keys(facade.actions).map((name) => `[${name}](#${facade.name}-${name})`)
    return `- [${facade.name}](#${facade.name}): ${actions.join(', ')}`
  })
  const rest = forms.size === 0 ? [] : ['- [Forms](#forms)']
  return [...facades, ...rest, '- [Errors](#errors)'].join('\n')
}

function facadeFacts({ summary, facet, listed, everywhere, micro, pro }: Facade): string {
  return [
    summary,
    `Facet \`${facet}\`${everywhere === true ? ', and open in every other' : ''}.`,
    listed === true ? 'In the list of tools that a client gets unasked.' : 'Not listed unless asked for.',
    ...(micro === undefined ? [] : [`The smallest list shows ${codes(micro)}.`]),
    ...(pro === true ? ['Only where pro features are switched on.'] : []),
  ].join(' ')
}

function actionSection(found: Found, forms: Forms): string[] {
  const { facade, name, action } = found
  const examples = (action.examples ?? []).map((example) => JSON.stringify(example))
  return [
    `### ${facade.name} ${name}`,
    action.summary,
    actionFacts(found),
    ...paramTable(jsonSchema(action.input, 'input')),
    ...answer(jsonSchema(action.output, 'output'), forms),
    ...(examples.length === 0 ? [] : [`\`\`\`json\n${examples.join('\n')}\n\`\`\``]),
  ]
}

function actionFacts({ facade, name, action }: Found): string {
  const aliases = (action.aliases ?? []).map((alias) => (typeof alias === 'string' ? alias : alias.name))
  const facts = [
    effectOf(action),
    `For: ${['operator', ...action.allow].join(', ')}. Facet \`${facade.facet}\`.`,
    ...(action.own_tool === undefined ? [] : [`MCP tool of its own: \`${facade.name}_${name}\`.`]),
    ...(aliases.length === 0 ? [] : [`Old names: ${codes(aliases)}.`]),
    ...(action.errors.length === 0 ? [] : [`May refuse: ${codes(action.errors)}.`]),
  ]
  return facts.map((fact) => `- ${fact}`).join('\n')
}

function effectOf({ mutates, idempotent, destructive, delegates }: Found['action']): string {
  if (!mutates) return 'Changes nothing.'
  if (delegates === true) return 'Changes what the action that it calls changes.'
  const again = idempotent === true ? 'Changes state; repeating it is harmless.' : 'Changes state.'
  return destructive === true ? `${again} What it takes away, nobody can bring back.` : again
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function paramTable(schema: JsonSchema): string[] {
  const rows = fieldsOf(schema, true).map(({ name, type, required, default: fallback, schema }) => [
    `\`${name}\``,
    `\`${type}\``,
    boundsOf(schema),
    required ? 'required' : fallback === undefined ? '' : `\`${JSON.stringify(fallback)}\``,
  ])
  return table(['parameter', 'type', 'bounds', 'default'], rows)
}

function answer(schema: JsonSchema, forms: Forms): string[] {
  const title = schema['title']
  if (typeof title === 'string' && forms.has(title)) return [`Answers a ${linked(title, forms)}.`]
  if (schema['type'] !== 'object' || schema['properties'] === undefined) return ['Answers any JSON.']
  const rows = fieldTable('answer', schema, forms)
  return rows.length === 0 ? ['Answers an empty object.'] : rows
}

function fieldTable(heading: string, schema: JsonSchema, forms: Forms): string[] {
  const rows = fieldsOf(schema, true).map(({ name, type, required }) => [
    `\`${name}${required ? '' : '?'}\``,
    linked(type, forms),
  ])
  return table([heading, 'type'], rows)
}

/** As code, unless it names a form: a link cannot stand inside of code. */
function linked(type: string, forms: Forms): string {
  const parts = type.split(/\b([A-Z]\w+)\b/)
  if (!parts.some((part) => forms.has(part))) return `\`${type}\``
  return parts
    .map((part) =>
      forms.has(part) ? `[${part}](#form-${part.toLowerCase()})` : part.replace(/[[\]{}_*<>]/g, '\\$&'),
    )
    .join('')
}

function formSections(forms: Forms): string[] {
  if (forms.size === 0) return []
  const sections = [...forms].flatMap(([title, schema]) => [
    `### Form ${title}`,
    ...fieldTable('field', schema, forms),
  ])
  return ['## Forms', ...sections]
}

/** Every titled object in an answer, in the order in which a reader meets them. */
function formsOf(registry: Registry): Forms {
  const forms = new Map<string, JsonSchema>()
  const visit = (schema: JsonSchema) => {
    const { title, items, additionalProperties } = schema
    if (typeof title === 'string' && schema['type'] === 'object') {
      // A definition stands at the root of whatever schema has need of it, and says nothing of the form.
      const { $defs: _, ...form } = schema
      if (JSON.stringify(forms.get(title) ?? form) !== JSON.stringify(form))
        throw new Error(`two objects are called ${title}`)
      forms.set(title, form)
    }
    const parts = [items, additionalProperties, ...unionOf(schema)]
    for (const part of [...parts, ...Object.values(propertiesOf(schema))])
      if (typeof part === 'object' && part !== null) visit(part as JsonSchema)
  }
  for (const { action } of registry.actions) visit(jsonSchema(action.output, 'output'))
  return forms
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(([code, { title, status, error_class, retry, hint }]) => [
    `\`${code}\``,
    String(status),
    error_class,
    retry,
    `${title}. ${hint}`,
  ])
  return table(['code', 'status', 'class', 'retry', 'meaning and what to do'], rows).join('')
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return []
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [[line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')]
}
