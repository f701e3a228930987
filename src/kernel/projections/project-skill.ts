/**
 * The skill: a page that agents read before they work with turnbell, without actions of the operator. It is short, because
 * it takes up the agent's context; details are in the reference.
 */
import type { Action, Facade, Found } from '../define.ts'
import type { Field } from '../fields.ts'
import { cliParams } from './project-cli.ts'
import { projectInstructions } from './project-instructions.ts'
import type { Registry } from '../registry.ts'
import type { Retry } from '../../contracts/errors/error-catalogue.ts'

const NAME = 'turnbell'
/** Maximum number of parameters shown for an action. */
const PARAMS_SHOWN_MAX = 8

/** Returns Markdown with front matter and one final newline. Deterministic. */
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
  // Facades of every facet only lead to others, and their names would trigger the skill for any tool.
  const named = facades.filter(({ everywhere }) => everywhere !== true).map(({ name }) => name)
  const description = [
    'Durable signals and shared tools for a team of coding agents.',
    'Use it when a line begins with [turnbell], when you are to write to, answer or wait for another agent or a person,',
    `or when a task needs one of its tools: ${named.join(', ')}.`,
  ].join(' ')
  // A JSON string is valid YAML and needs no further escapes.
  return ['---', `name: ${NAME}`, `description: ${JSON.stringify(description)}`, '---'].join('\n')
}

const INTRODUCTION =
  'turnbell stores messages between agents on disk until the recipient has them, and notifies a recipient only between two turns.'

const CALLS = [
  'A facade is an MCP tool of its name and takes `{"action": …, "params": {…}}`. An action written with an underscore below, such as `facade_action`, is a separate tool that takes its parameters directly.',
  '`name?` is optional, `= value` is its default, and `…` stands for further parameters. _Reads_ changes nothing; _Repeatable_ may be repeated without further effect; _Changes_ has an effect each time.',
  'An action that is _not listed_ is usually missing in your list of tools, but can be called: `tool_invoke` with `facade_action` as its `name` and the parameters as `args`. `tool_search` finds an action by words, `tool_describe` shows all of its parameters.',
  'Without MCP: `turnbell call FACADE ACTION --params JSON`.',
]

const AGAIN: Record<Retry, string> = {
  never: 'the same call fails again; change it',
  after_delay: 'the same call may succeed later',
  after_rebind: 'not in this session: a newer one has replaced it, or its token is too old',
}

function refusals(): string {
  const again = Object.entries(AGAIN).map(([retry, meaning]) => `\`${retry}\` (${meaning})`)
  return `A rejected call returns a problem. Follow its \`hint\`; \`detail\` describes the error, and \`code\` identifies the rule. \`retry\` is ${again.join(', ')}. \`internal\` is a bug in turnbell: report its \`instance\` to your user.`
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

/** Conditions for the facade to be available; empty without any. */
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

/** Signature with required parameters first, so that only optional ones are cut. */
function paramList(found: Found): string {
  const params = cliParams(found)
  const shown = mainParams(found.action, params)
  const parts = shown.map((param) => {
    const fallback = param.default === undefined ? '' : ` = ${JSON.stringify(param.default)}`
    return `${param.name}${param.required ? '' : '?'}: ${param.type}${fallback}`
  })
  return [...parts, ...(params.length > shown.length ? ['…'] : [])].join(', ')
}

/** Returns the required parameters and those that the summary names; all if it names none. */
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

/** Fields in a summary, which names them because tool lists contain no schemas: `Do this: {one, other?}`. */
const FIELDS = /: \{([^{}]*)\}/

/** Summary without its fields, because the signature shows them. */
function withoutFields(summary: string): string {
  return summary.replace(FIELDS, '')
}

/** Returns an example call; null without one, or if it adds nothing to the signature. */
function exampleOf(found: Found): string | null {
  const { facade, name, action } = found
  const example = action.examples?.[0]
  if (example === undefined || Object.keys(example as object).length === 0) return null
  return action.own_tool === undefined
    ? `\`${facade.name}\`: \`${JSON.stringify({ action: name, params: example })}\``
    : `\`${calledAs(found)}\`: \`${JSON.stringify(example)}\``
}
