/**
 * What a client reports about its agent besides the turn: what it asks its person, the running subagents, and the size of
 * the conversation. Texts are the client's, on one line, without control characters, and truncated.
 */
import * as z from 'zod'
import { Timestamp } from './ids.ts'
import { LIMITS } from './limits/limits.ts'

const Text = z.string().max(LIMITS.presence_text_length_max)
const Tokens = z.number().int().min(0)

/** One request of the client to its person. `agent` is the subagent that waits, null for the main agent. */
export const Waiting = z.object({
  for: z.enum(['permission', 'question', 'plan']),
  tool: Text,
  /** The client's reason; null without one. */
  why: Text.nullable(),
  agent: Text.nullable(),
  since: Timestamp,
})
export type Waiting = z.infer<typeof Waiting>

/** A running subagent. `parent` is the subagent that started it, null for the main agent. */
export const Subagent = z.object({
  agent: Text,
  parent: Text.nullable(),
  type: Text.nullable(),
  /** Short description of its task. */
  task: Text.nullable(),
  since: Timestamp,
})
export type Subagent = z.infer<typeof Subagent>

export const Compaction = z.object({
  at: Timestamp,
  /** Tokens of the conversation before and after it; null if the client did not report them. */
  before: Tokens.nullable(),
  after: Tokens.nullable(),
  /**
   * Whether the conversation that the model answered after the compaction contained the primer. Null before that
   * answer, and if it cannot be read.
   */
  restored: z.boolean().nullable(),
})
export type Compaction = z.infer<typeof Compaction>

export const Presence = z.object({
  /** Oldest first; at most `presence_waiting_max`. */
  waiting: z.array(Waiting).max(LIMITS.presence_waiting_max),
  /** Oldest first; at most `presence_agents_max`, further ones are not listed. */
  agents: z.array(Subagent).max(LIMITS.presence_agents_max),
  /** Tokens of the conversation and of the model's context window, at the end of the last turn; null if unknown. */
  tokens: Tokens.nullable(),
  window: Tokens.nullable(),
  /** US dollars of the session, as the client calculates them; null if unknown. */
  cost_usd: z.number().min(0).nullable(),
  /** Null while no compaction runs. */
  compacting_since: Timestamp.nullable(),
  /** Null before the first compaction of the session. */
  last_compaction: Compaction.nullable(),
})
export type Presence = z.infer<typeof Presence>
