/** The kernel as docs/reference.md. Generated; never edited by hand. */
import { cliParams } from './project-cli.ts'
import type { Found } from './define.ts'
import type { Registry } from './registry.ts'
import { ERRORS } from '../contracts/error-catalogue.ts'

/** Markdown, ending with one newline; the same bytes for the same declarations. */
export function projectDocs(registry: Registry): string {
  const sections = registry.facades.flatMap((facade) => [
    `## ${facade.name}`,
    facade.summary,
    ...registry.actions.filter((found) => found.facade === facade).map(actionSection),
  ])
  return `${['# Reference', INTRODUCTION, ...sections, '## Errors', errorTable()].join('\n\n')}\n`
}

const INTRODUCTION = [
  'Generated from the facades in `src/facades`; do not edit.',
  '',
  'Every action is reachable as an MCP tool, as `POST /api/<facade>/<action>` (and GET where it changes',
  'nothing), as a `call` frame on `/ws` and as `turnbell call <facade> <action>`.',
].join('\n')

function actionSection(found: Found): string {
  const { facade, name, action } = found
  const who = ['operator', ...action.allow].join(', ')
  const aliases = (action.aliases ?? []).map(
    (alias) => `\`${typeof alias === 'string' ? alias : alias.name}\``,
  )
  const facts = [
    `- ${action.mutates ? (action.idempotent === true ? 'Changes state; repeating it is harmless.' : 'Changes state.') : 'Changes nothing.'}`,
    `- For: ${who}.`,
    ...(action.own_tool === undefined ? [] : [`- MCP tool of its own: \`${facade.name}_${name}\`.`]),
    ...(aliases.length === 0 ? [] : [`- Old names: ${aliases.join(', ')}.`]),
    ...(action.errors.length === 0
      ? []
      : [`- May refuse: ${action.errors.map((code) => `\`${code}\``).join(', ')}.`]),
  ]
  const example = action.examples?.[0]
  return [
    `### ${facade.name} ${name}`,
    action.summary,
    facts.join('\n'),
    ...paramTable(found),
    ...(example === undefined ? [] : [`\`\`\`json\n${JSON.stringify(example)}\n\`\`\``]),
  ].join('\n\n')
}

function paramTable(found: Found): string[] {
  const params = cliParams(found)
  if (params.length === 0) return []
  const rows = params.map((param) => {
    const fallback = param.required
      ? 'required'
      : param.default === undefined
        ? ''
        : `\`${JSON.stringify(param.default)}\``
    return `| \`${param.name}\` | \`${param.type.replaceAll('|', '\\|')}\` | ${fallback} |`
  })
  return [['| parameter | type | default |', '| --- | --- | --- |', ...rows].join('\n')]
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { title, status, error_class, retry, hint }]) =>
      `| \`${code}\` | ${status} | ${error_class} | ${retry} | ${title}. ${hint} |`,
  )
  return [
    '| code | status | class | retry | meaning and what to do |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}
