/** What is told of a client's hook: that it happened, not what was said; and what the client gets back. */
import * as z from 'zod'
import type { Json } from './ids.ts'

/** Fires when a session starts, resumes, is cleared or compacted. */
export const SESSION_START = 'SessionStart'

/** Output of a hook as Claude Code and Codex read it. */
export const HookAnswer = z.object({
  hookSpecificOutput: z
    .object({ hookEventName: z.literal(SESSION_START), additionalContext: z.string() })
    .optional(),
})
export type HookAnswer = z.infer<typeof HookAnswer>

export const CLIENT_FORM = /^[a-z][a-z0-9-]{0,31}$/
const FACTS = ['hook_event_name', 'session_id', 'cwd', 'tool_name', 'agent_id'] as const
const FACT_LENGTH_MAX = 1_024

/** Prompts and tool inputs stay in the client. */
export function hookFacts(client: string, body: Record<string, unknown>): Record<string, Json> {
  const facts: Record<string, Json> = { client }
  for (const name of FACTS) {
    const value = body[name]
    if (typeof value === 'string') facts[name] = value.slice(0, FACT_LENGTH_MAX)
  }
  return facts
}
