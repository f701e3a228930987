/**
 * The kernel as a skill: the page that an agent opens when it is to work with turnbell. Generated for
 * whoever drives turnbell as an agent, so what only the operator may call is not in it. Every line is
 * paid for in the reader's context; the reference is where there is room.
 */
import type { Action, Facade, Found } from './define.ts'
import type { Field } from './fields.ts'
import { cliParams } from './project-cli.ts'
import { projectInstructions } from './project-instructions.ts'
import type { Registry } from './registry.ts'
import type { Retry } from '../contracts/error-catalogue.ts'

const NAME = 'turnbell'
/** More are a look-up: an action with so many is called with a few of them. */
const PARAMS_SHOWN_MAX = 8

/** Markdown with front matter, ending with one newline; the same bytes for the same declarations. */
export function projectSkill(registry: Registry): string {
  const forAgents = registry.actions.filter(({ action }) => action.allow.includes('agent'))
  const facades = registry.facades.filter((facade) => forAgents.some((found) => found.facade === facade))
  const sections = facades.map((facade) =>
    facadeSection(
      facade,
      forAgents.filter((found) => found.facade === facade),
    ),
  )
  return `${[
    frontMatter(facades),
    `# ${NAME}`,
    INTRODUCTION,
    '## Routine',
    projectInstructions(facades),
    '## Calls',
    CALLS.map((line) => `- ${line}`).join('\n'),
    '## Refusals',
    refusals(),
    '## Tools',
    ...sections,
  ].join('\n\n')}\n`
}

function frontMatter(facades: readonly Facade[]): string {
  // What is there in every facet only leads to the others; its name would call for the skill at any word of tools.
  const named = facades.filter(({ everywhere }) => everywhere !== true).map(({ name }) => name)
  const description = [
    'Durable signals and shared tools for a team of coding agents.',
    'Use it when a line begins with [turnbell], when you are to write to, answer or wait for another agent or a person,',
    `or when a task needs one of its tools: ${named.join(', ')}.`,
  ].join(' ')
  // JSON is YAML: quoted, no sign in the text can be taken for another's.
  return ['---', `name: ${NAME}`, `description: ${JSON.stringify(description)}`, '---'].join('\n')
}

const INTRODUCTION =
  'turnbell keeps messages between agents on disk until their reader has them, and rings a reader only between two turns.'

const CALLS = [
  'A facade is an MCP tool of its name and takes `{"action": …, "params": {…}}`. An action that is written below with an underscore, as `facade_action`, is a tool by itself and takes its parameters directly.',
  'Below, `name?` may be left out and `= value` is what it then is; `…` says that there are more. _Reads_ changes nothing; _Repeatable_ changes something, and a second time does no harm; _Changes_ does it again.',
  'What is _not listed_ is usually missing in your list of tools, and can be called all the same: `tool_invoke` with `facade_action` as its `name` and the parameters as `args`. `tool_search` finds an action by words, `tool_describe` shows all of its parameters.',
  'Without MCP: `turnbell call FACADE ACTION --params JSON`.',
]

const AGAIN: Record<Retry, string> = {
  never: 'the same call fails again, change it',
  after_delay: 'the same call may succeed later',
  after_rebind: 'not as this session: a newer one has its place, or its token is too old',
}

function refusals(): string {
  const again = Object.entries(AGAIN).map(([retry, meaning]) => `\`${retry}\` (${meaning})`)
  return `A call that is refused answers with a problem. Do what its \`hint\` says; \`detail\` says what was wrong this time, and \`code\` which rule it was. \`retry\` is ${again.join(', ')}. \`internal\` is a mistake in turnbell: tell your user its \`instance\`.`
}

function facadeSection(facade: Facade, actions: readonly Found[]): string {
  const example = actions.map(exampleOf).find((text) => text !== null)
  return [
    `### ${facade.name}`,
    [facade.summary, ...placeOf(facade)].join(' '),
    actions.map(actionLine).join('\n'),
    ...(example === undefined ? [] : [`For example ${example}`]),
  ].join('\n\n')
}

/** Where it is to be had, as far as that is not everywhere. */
function placeOf({ listed, facet, everywhere, pro }: Facade): string[] {
  return [
    ...(listed === true ? [] : ['_Not listed._']),
    ...(facet === 'core' || everywhere === true ? [] : [`Only where the facet \`${facet}\` is exposed.`]),
    ...(pro === true ? ['Only where pro features are switched on.'] : []),
  ]
}

function actionLine(found: Found): string {
  const { action } = found
  return `- \`${calledAs(found)}(${paramList(found)})\` ${effectOf(action)}. ${withoutFields(action.summary)}`
}

function calledAs({ facade, name, action }: Found): string {
  return action.own_tool === undefined ? name : `${facade.name}_${name}`
}

/** As a signature: what must be there first, so that what is cut off can be left out. */
function paramList(found: Found): string {
  const params = cliParams(found)
  const shown = mainParams(found.action, params)
  const said = shown.map((param) => {
    const fallback = param.default === undefined ? '' : ` = ${JSON.stringify(param.default)}`
    return `${param.name}${param.required ? '' : '?'}: ${param.type}${fallback}`
  })
  return [...said, ...(params.length > shown.length ? ['…'] : [])].join(', ')
}

/** Those that the summary names, where it names any; what is required is always among them. */
function mainParams({ summary }: Action, params: readonly Field[]): Field[] {
  const named = FIELDS.exec(summary)?.[1]?.match(/(?<=^|, ?)[a-z_]+/g)
  const needed = params.filter(({ required }) => required)
  const optional = params.filter(({ required }) => !required)
  if (!named) return [...needed, ...optional].slice(0, Math.max(PARAMS_SHOWN_MAX, needed.length))
  return [...needed, ...optional.filter(({ name }) => named.includes(name))]
}

function effectOf({ mutates, idempotent, destructive, delegates }: Action): string {
  if (!mutates) return '_Reads_'
  if (delegates === true) return '_As what it calls_'
  const effect = idempotent === true ? '_Repeatable_' : '_Changes_'
  return destructive === true ? `${effect}, for good` : effect
}

/** A list of tools shows no schemas, so summaries name the fields that matter: `Do this: {one, other?}`. */
const FIELDS = /: \{([^{}]*)\}/

/** Here they stand before it, with their types. */
function withoutFields(summary: string): string {
  return summary.replace(FIELDS, '')
}

/** As the call would be written, or null where there is none, or one that is no news. */
function exampleOf(found: Found): string | null {
  const { facade, name, action } = found
  const example = action.examples?.[0]
  if (example === undefined || Object.keys(example as object).length === 0) return null
  return action.own_tool === undefined
    ? `\`${facade.name}\`: \`${JSON.stringify({ action: name, params: example })}\``
    : `\`${calledAs(found)}\`: \`${JSON.stringify(example)}\``
}
