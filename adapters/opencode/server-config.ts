/**
 * What is added to a person's opencode configuration for the persona's server, and for it alone. opencode
 * merges the variable OPENCODE_CONFIG_CONTENT over the person's files, which stay as they are.
 */
import { z } from 'zod'

const Section = z.record(z.string(), z.unknown())

/** A subagent's calls cannot be told from its agent's, so it gets no chance to take its signals. */
const SUBAGENTS = ['general', 'explore']

/** `content` is what the person keeps in that variable already. */
export function withTurnbell(content: string | undefined, bridge: readonly string[]): string {
  const theirs = section(parsed(content))
  const agents = section(theirs['agent'])
  const withoutDrain = SUBAGENTS.map((name) => {
    const agent = section(agents[name])
    const permission = { ...permissions(agent['permission']), turnbell_signals_pending: 'deny' }
    return [name, { ...agent, permission }] as const
  })
  return JSON.stringify({
    ...theirs,
    mcp: { ...section(theirs['mcp']), turnbell: { type: 'local', command: bridge, enabled: true } },
    // What a doorbell asks for must not wait for a person.
    permission: {
      ...permissions(theirs['permission']),
      turnbell_signals_pending: 'allow',
      turnbell_signals: 'allow',
    },
    agent: { ...agents, ...Object.fromEntries<unknown>(withoutDrain) },
  })
}

/** A single word is opencode's short form for all of them. */
function permissions(value: unknown): Record<string, unknown> {
  return typeof value === 'string' ? { '*': value } : section(value)
}

function section(value: unknown): Record<string, unknown> {
  return Section.safeParse(value).data ?? {}
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? null : JSON.parse(text)
  } catch {
    return null
  }
}
