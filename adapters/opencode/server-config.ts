/**
 * Adds turnbell to the opencode configuration of the persona's server. opencode merges the variable
 * OPENCODE_CONFIG_CONTENT over the person's files, which are not changed.
 */
import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser'
import * as z from 'zod'
import { DRAIN_TOOL } from '../../src/contracts/drain-calls.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'

const DRAIN = `turnbell_${DRAIN_TOOL}`
const Section = z.record(z.string(), z.unknown())
const JSONC_OPTIONS = { allowTrailingComma: true }

/**
 * The subagents that come with opencode. The drain tool is denied to them, because their calls cannot be distinguished
 * from those of the main agent; the plugin rejects the tool for all other subagents.
 */
const SUBAGENTS = ['general', 'explore']

/** The server's password is not passed on to the bridge. */
const MCP_DEFAULTS = { type: 'local', enabled: true, environment: { OPENCODE_SERVER_PASSWORD: '' } }

/** A plugin module for opencode, with its options. */
export type PluginEntry = readonly [module: string, options: { persona: string; home: string }]

/**
 * Returns the variable's content with turnbell added. `content` is its present value. `plugin` may be null.
 * @throws `config_invalid`
 */
export function withTurnbell(
  content: string | undefined,
  bridge: readonly string[],
  plugin: PluginEntry | null,
): string {
  const config = parseConfig(content)
  return JSON.stringify({
    ...config,
    mcp: { ...section(config['mcp']), turnbell: { ...MCP_DEFAULTS, command: bridge } },
    ...(plugin === null ? {} : { plugin: [...list(config['plugin']), plugin] }),
    // Allowed, because the tools that a doorbell requests must not wait for a person.
    permission: {
      ...permissions(config['permission']),
      [DRAIN]: 'allow',
      turnbell_signals: 'allow',
    },
    agent: withoutDrain(config['agent']),
  })
}

/**
 * Returns the variable's content with the restricted subagents only, for an opencode that gets turnbell's MCP server
 * by other means.
 * @throws `config_invalid`
 */
export function withRestrictedSubagents(content: string | undefined): string {
  const config = parseConfig(content)
  return JSON.stringify({
    ...config,
    agent: withoutDrain(config['agent']),
  })
}

/** Parses the present value, with comments, as opencode does. An unreadable value is an error, not dropped. */
function parseConfig(content = ''): Record<string, unknown> {
  if (content === '') return {}
  const errors: ParseError[] = []
  const config = Section.safeParse(parse(content, errors, JSONC_OPTIONS))
  const [error] = errors
  if (config.success && error === undefined) return config.data
  const reason =
    error === undefined ? 'it is not an object' : `${printParseErrorCode(error.error)} at ${error.offset}`
  throw new TurnbellError('config_invalid', {
    detail: `OPENCODE_CONFIG_CONTENT cannot be read: ${reason}`,
    hint: 'Correct or unset the variable in the environment of the daemon.',
  })
}

function withoutDrain(agents_config: unknown): Record<string, unknown> {
  const agents = section(agents_config)
  const restricted = SUBAGENTS.map((name) => {
    const agent = section(agents[name])
    const permission = { ...permissions(agent['permission']), [DRAIN]: 'deny' }
    return [name, { ...agent, permission }] as const
  })
  return { ...agents, ...Object.fromEntries<unknown>(restricted) }
}

/** A single string is opencode's short form for all permissions. */
function permissions(value: unknown): Record<string, unknown> {
  return typeof value === 'string' ? { '*': value } : section(value)
}

function section(value: unknown): Record<string, unknown> {
  return Section.safeParse(value).data ?? {}
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
