/**
 * What Claude Code's hooks tell the worker: the arguments of the unlisted tool `turn_event`.
 *
 * The client fills the placeholders of hooks.json: everything arrives as text, objects as JSON text,
 * what an event does not have as the empty string. Captured from version 2.1.329, see
 * test/fixtures/claude-code/.
 */
import * as z from 'zod'
import { jsonAs, jsonIn } from '../../src/contracts/json.ts'

const Text = z.string().default('')

export const TurnEvent = z.object({
  event: z.string(),
  session_id: Text,
  /** Set when the event happened inside a subagent. */
  agent_id: Text,
  /**
   * Names the turn. A prompt that is typed during one bears its name; the turn that it begins afterwards has
   * another. Empty where the client says none.
   */
  prompt_id: Text,
  prompt: Text,
  tool_name: Text,
  tool_use_id: Text,
  source: Text,
  reason: Text,
  notification_type: Text,
  /** A JSON array of what still runs when the main agent stops. */
  background_tasks: Text,
})
export type TurnEvent = z.infer<typeof TurnEvent>

/** With nothing but these the registry shows a prompt, as `shell`. */
const LEAVE_A_PROMPT: readonly unknown[] = ['shell', 'monitor']

/** A stop with a subagent, or what is not known, still at work leaves the session's registry at `busy`. */
export function hasBackgroundTasks(event: TurnEvent): boolean {
  const tasks = jsonIn(event.background_tasks || '[]')
  if (!Array.isArray(tasks)) return false
  return tasks.some((task: unknown) => !LEAVE_A_PROMPT.includes((task as { type?: unknown } | null)?.type))
}

/** The session registry's file `sessions/<pid>.json`: undocumented, the only sign of an interrupt. */
export const RegistryRecord = z.object({
  sessionId: z.string().optional(),
  /** Of the client. */
  version: z.string().optional(),
  /** `shell` is a prompt with a background shell alive, `waiting` an open dialog. */
  status: z.enum(['idle', 'busy', 'waiting', 'shell']).nullable().catch(null),
})
export type RegistryRecord = z.infer<typeof RegistryRecord>

/** What the file says: null where there is none, undefined where it was caught half-written and says nothing yet. */
export function recordIn(text: string | null): RegistryRecord | null | undefined {
  return text === null ? null : (jsonAs(RegistryRecord, text) ?? undefined)
}
