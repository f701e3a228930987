/** Generates docs/reference/actions.md from the kernel and errors.md from the error catalogue. */
import type { Facade, Found } from '../define.ts'
import { boundsOf, fieldsOf, propertiesOf, unionOf } from '../fields.ts'
import type { Registry } from '../registry.ts'
import { jsonSchema, type JsonSchema } from '../schema.ts'
import { ERRORS } from '../../contracts/errors/error-catalogue.ts'

/** Objects shared by several answers, by title. */
type Forms = ReadonlyMap<string, JsonSchema>

/** Returns Markdown with one final newline. Deterministic. */
export function projectDocs(registry: Registry): string {
  const forms = formsOf(registry)
  const sections = registry.facades.flatMap((facade) => [
    `## ${facade.name}`,
    facadeFacts(facade),
    ...registry.actions
      .filter((found) => found.facade === facade)
      .flatMap((found) => actionSection(found, forms)),
  ])
  return `${['# Actions', INTRODUCTION, contents(registry, forms), ...sections, ...formSections(forms)].join(
    '\n\n',
  )}\n`
}

/** Returns all error codes as Markdown with one final newline. */
export function projectErrors(): string {
  return `${['# Errors', ERRORS_INTRODUCTION, errorTable()].join('\n\n')}\n`
}

const INTRODUCTION = [
  'Generated from the facades in `src/facades`; do not edit.',
  '',
  'Every action is available as an MCP tool, as `POST /api/<facade>/<action>` (also GET if it changes nothing), as a',
  '`call` frame on `/ws` and as `turnbell call <facade> <action>`. The operator may call all of them. In an answer, a',
  'field with `?` may be missing. [Errors](errors.md) lists the codes under "May refuse".',
  '',
  '**Project of a call.** Records, git and programs apply to the project that the call names: `X-Scope` over HTTP,',
  '`_meta.scope` over MCP, `context.scope` on `/ws`, `--scope` on the command line. The value is an id, an alias or a',
  'directory. [Shared memory](../guides/shared-memory.md#project-of-a-call) describes how a directory is resolved.',
  '',
  'Without a scope, the call applies to the project of the calling persona. Without that, records are stored with the hub,',
  'and actions that need a directory are refused. `portfolio` reads the records of every project. Other actions ignore the',
  'scope.',
].join('\n')

const ERRORS_INTRODUCTION = [
  'Generated from `src/contracts/errors/error-catalogue.ts`; do not edit.',
  '',
  'Every error is one problem object with `type`, `title`, `status`, `detail`, `instance`, `code`, `error_class`, `retry`',
  'and `hint`. HTTP sends it as `application/problem+json`, MCP as a tool result with `isError`, WebSocket as an `error`',
  'frame, JSON-RPC as `error.data`. `hint` names the next step.',
  '',
  '| retry | meaning |',
  '| --- | --- |',
  '| `never` | the same request fails again; change it first |',
  '| `after_delay` | the same request may succeed later |',
  '| `after_rebind` | connect or register again, then repeat the request |',
].join('\n')

function contents(registry: Registry, forms: Forms): string {
  const facades = registry.facades.map((facade) => {
    const actions = Object.keys(facade.actions).map((name) => `[${name}](#${facade.name}-${name})`)
    return `- [${facade.name}](#${facade.name}): ${actions.join(', ')}`
  })
  const rest = forms.size === 0 ? [] : ['- [Forms](#forms)']
  return [...facades, ...rest].join('\n')
}

function facadeFacts({ summary, facet, listed, everywhere, for_watchers, micro, pro }: Facade): string {
  return [
    summary,
    `Facet \`${facet}\`${everywhere === true ? ', and open in every other' : ''}${for_watchers === true ? ', and always open to the operator and observers' : ''}.`,
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
  return destructive === true ? `${again} What it removes cannot be restored.` : again
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

/** Formats a type as code, unless it contains a form, because Markdown has no links inside code. */
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

/** Returns every titled object in an answer, in order of appearance. */
function formsOf(registry: Registry): Forms {
  const forms = new Map<string, JsonSchema>()
  const visit = (schema: JsonSchema) => {
    const { title, items, additionalProperties } = schema
    if (typeof title === 'string' && schema['type'] === 'object') {
      // Definitions depend on the surrounding schema and are not part of the form.
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
