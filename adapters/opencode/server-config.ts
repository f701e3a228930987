/**
 * What is added to a person's opencode configuration for the persona's server, and for it alone. opencode
 * merges the variable OPENCODE_CONFIG_CONTENT over the person's files, which stay as they are.
 */
import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser'
import * as z from 'zod'
import { DRAIN_TOOL } from '../../src/contracts/drain.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'

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

/** A module for opencode to load, and what it is told. */
export type PluginEntry = readonly [module: string, options: { persona: string; home: string }]

/**
 * `content` is what the person keeps in that variable already. Without `plugin` none is loaded.
 * @throws `config_invalid`
 */
export function withTurnbell(
  content: string | undefined,
  bridge: readonly string[],
  plugin: PluginEntry | null,
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
  })
}

/**
 * The same for an opencode that is handed turnbell's server by other means.
 * @throws `config_invalid`
 */
export function withCarefulSubagents(content: string | undefined): string {
  const theirs = theirConfig(content)
  return JSON.stringify({
    ...theirs,
    agent: withoutDrain(theirs['agent']),
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

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
