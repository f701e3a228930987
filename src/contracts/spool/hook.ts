/** Input and output of a client's hook. Only the fact is stored, never its content. */
import * as z from 'zod'
import type { Json } from '../ids.ts'

/** Fires when a session starts, is resumed, cleared or compacted. */
export const SESSION_START = 'SessionStart'

/** Hook output that Claude Code and Codex read. */
export const HookAnswer = z.object({
  hookSpecificOutput: z
    .object({ hookEventName: z.literal(SESSION_START), additionalContext: z.string() })
    .optional(),
})
export type HookAnswer = z.infer<typeof HookAnswer>

export const CLIENT_FORM = /^[a-z][a-z0-9-]{0,31}$/
const FACTS = ['hook_event_name', 'session_id', 'cwd', 'tool_name', 'agent_id'] as const
const FACT_LENGTH_MAX = 1_024

/** Selects the stored fields; prompts and tool inputs stay in the client. */
export function hookFacts(client: string, body: Record<string, unknown>): Record<string, Json> {
  const facts: Record<string, Json> = { client }
  for (const name of FACTS) {
    const value = body[name]
    if (typeof value === 'string') facts[name] = value.slice(0, FACT_LENGTH_MAX)
  }
  return facts
}
