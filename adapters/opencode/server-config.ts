/**
 * What is added to a person's opencode configuration for the persona's server, and for it alone. opencode
 * merges the variable OPENCODE_CONFIG_CONTENT over the person's files, which stay as they are.
 */
import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser'
import * as z from 'zod'
import { opencodeShowsAsTold } from '../../src/contracts/client-versions.ts'
import { DRAIN_TOOL } from '../../src/contracts/drain.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'

const DRAIN = `turnbell_${DRAIN_TOOL}`
const Section = z.record(z.string(), z.unknown())
const FORGIVING = { allowTrailingComma: true }

/**
 * A subagent's calls cannot be told from its agent's, so it gets no chance to take its signals. Those that
 * come with opencode are not even shown the tool; the plugin refuses it to all others.
 */
const SUBAGENTS = ['general', 'explore']

/** The bridge has no need for the server's password. */
const LOCAL = { type: 'local', enabled: true, environment: { OPENCODE_SERVER_PASSWORD: '' } }

/**
 * Of a longer answer opencode shows no whole line, and a drain's is a single one, however many lines are in its signals:
 * `max_lines` does not matter. More than the largest signal alone, which a drain brings however little it was asked for.
 * Its payload is written as JSON once, and grows by two fifths at most when it is made harmless.
 */
const SHOWN_BYTES = LIMITS.drain_bytes_max

/** A module for opencode to load, and what it is told. */
export type PluginEntry = readonly [module: string, options: { persona: string; home: string }]

/** What decides how much of an answer is shown. */
export interface Shown {
  /** Of the opencode that is started; null where it does not tell. */
  version: string | null
  /** What stands in the person's files. */
  files: readonly string[]
}

/**
 * `content` is what the person keeps in that variable already. Without `plugin` none is loaded.
 * @throws `config_invalid`
 */
export function withTurnbell(
  content: string | undefined,
  bridge: readonly string[],
  plugin: PluginEntry | null,
  shown: Shown,
): string {
  const theirs = theirConfig(content)
  return JSON.stringify({
    ...theirs,
    mcp: { ...section(theirs['mcp']), turnbell: { ...LOCAL, command: bridge } },
    ...(plugin === null ? {} : { plugin: [...list(theirs['plugin']), plugin] }),
    // What a doorbell asks for must not wait for a person.
    permission: {
      ...permissions(theirs['permission']),
      [DRAIN]: 'allow',
      turnbell_signals: 'allow',
    },
    agent: withoutDrain(theirs['agent']),
    ...toolOutput(theirs, shown),
  })
}

/** What a person says of it, in whatever form, stays: the variable would win over their files. */
function toolOutput(theirs: Record<string, unknown>, { version, files }: Shown): Record<string, unknown> {
  if (!opencodeShowsAsTold(version)) return {}
  const configs = [theirs, ...files.map((text) => section(parse(text, [], FORGIVING)))]
  const said = configs.map((config) => config['tool_output'])
  const leavesRoom = (value: unknown) =>
    value === undefined || (isSection(value) && !Object.hasOwn(value, 'max_bytes'))
  return said.every(leavesRoom) ? { tool_output: { ...section(said[0]), max_bytes: SHOWN_BYTES } } : {}
}

/**
 * The same for an opencode that is handed turnbell's server by other means.
 * @throws `config_invalid`
 */
export function withCarefulSubagents(content: string | undefined, shown: Shown): string {
  const theirs = theirConfig(content)
  return JSON.stringify({
    ...theirs,
    agent: withoutDrain(theirs['agent']),
    ...toolOutput(theirs, shown),
  })
}

/** opencode reads it with comments, and so with what it forbids; what cannot be read must not be dropped unsaid. */
function theirConfig(content = ''): Record<string, unknown> {
  if (content === '') return {}
  const errors: ParseError[] = []
  const config = Section.safeParse(parse(content, errors, FORGIVING))
  const [error] = errors
  if (config.success && error === undefined) return config.data
  const why = error === undefined ? 'it is no map' : `${printParseErrorCode(error.error)} at ${error.offset}`
  throw new TurnbellError('config_invalid', {
    detail: `OPENCODE_CONFIG_CONTENT cannot be read: ${why}`,
    hint: 'Correct that variable, or unset it, where the daemon is started.',
  })
}

function withoutDrain(theirs: unknown): Record<string, unknown> {
  const agents = section(theirs)
  const careful = SUBAGENTS.map((name) => {
    const agent = section(agents[name])
    const permission = { ...permissions(agent['permission']), [DRAIN]: 'deny' }
    return [name, { ...agent, permission }] as const
  })
  return { ...agents, ...Object.fromEntries<unknown>(careful) }
}

/** A single word is opencode's short form for all of them. */
function permissions(value: unknown): Record<string, unknown> {
  return typeof value === 'string' ? { '*': value } : section(value)
}

function section(value: unknown): Record<string, unknown> {
  return Section.safeParse(value).data ?? {}
}

function isSection(value: unknown): value is Record<string, unknown> {
  return Section.safeParse(value).success
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
