/**
 * Payloads of Claude Code's hooks: the arguments of the unlisted tool `turn_event`.
 *
 * The client fills the placeholders of hooks.json. Every value arrives as text, objects as JSON text, and a
 * missing value as the empty string. Captured from version 2.1.329, see test/fixtures/claude-code/.
 */
import * as z from 'zod'
import { parseJsonAs, parseJsonOrNull } from '../../src/contracts/validation/json.ts'

const Text = z.string().default('')

export const TurnEvent = z.object({
  event: z.string(),
  session_id: Text,
  /** Set when the event happened inside a subagent. */
  agent_id: Text,
  /**
   * Id of the turn. A prompt that is typed during a turn carries the id of that turn; the turn that it starts
   * later has another id. Empty if the client does not report it.
   */
  prompt_id: Text,
  prompt: Text,
  tool_name: Text,
  tool_use_id: Text,
  source: Text,
  reason: Text,
  notification_type: Text,
  /** JSON array of the tasks that still run when the main agent stops. */
  background_tasks: Text,
})
export type TurnEvent = z.infer<typeof TurnEvent>

/** Types of tasks with which the registry still shows the prompt, as `shell`. */
const IDLE_TASK_TYPES: readonly unknown[] = ['shell', 'monitor']

/** Whether tasks of other or unknown types, such as subagents, still run: the registry then stays at `busy`. */
export function hasBackgroundTasks(event: TurnEvent): boolean {
  const tasks = parseJsonOrNull(event.background_tasks || '[]')
  if (!Array.isArray(tasks)) return false
  return tasks.some((task: unknown) => !IDLE_TASK_TYPES.includes((task as { type?: unknown } | null)?.type))
}

/** The client's session registry `sessions/<pid>.json`: undocumented, and the only sign of an interrupt. */
export const RegistryRecord = z.object({
  sessionId: z.string().optional(),
  /** The client's version. */
  version: z.string().optional(),
  /** `shell`: at the prompt with a background shell running; `waiting`: a dialog is open. */
  status: z.enum(['idle', 'busy', 'waiting', 'shell']).nullable().catch(null),
})
export type RegistryRecord = z.infer<typeof RegistryRecord>

/** Parses the registry file: null if there is no file, undefined if it is only partly written. */
export function parseRegistryRecord(text: string | null): RegistryRecord | null | undefined {
  return text === null ? null : (parseJsonAs(RegistryRecord, text) ?? undefined)
}
