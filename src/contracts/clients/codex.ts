/** Thread events that the bridge and the hooks of Codex report to the persona's shim. */
import * as z from 'zod'
import { SessionId } from '../ids.ts'

/**
 * Environment variable that names the persona whose own app-server a Codex runs in. TURNBELL_PERSONA does not show that: the
 * app-server that every plain `codex` shares inherits it from the process that started the server.
 */
export const OWN_SERVER_PERSONA = 'TURNBELL_CODEX_PERSONA'

/** The hooks of Codex by their own names, and two kinds of turnbell's tool calls. */
export const ThreadEvent = z.enum([
  'SessionStart',
  'UserPromptSubmit',
  'Stop',
  'Interrupt',
  'SessionEnd',
  /** The agent drained. */
  'Drain',
  /** The agent called another tool of turnbell. */
  'ToolCall',
])
export type ThreadEvent = z.infer<typeof ThreadEvent>

/** Identity of a Codex process. */
export const ClientProcess = z.object({
  pid: z.number().int().positive(),
  /** Distinguishes it from a later process with the same pid. */
  started: z.string(),
  /** Namespace of the pid. */
  namespace: z.string(),
})
export type ClientProcess = z.infer<typeof ClientProcess>

export const ThreadNews = z.object({
  /** Codex's session_id in a hook, threadId in a tool call. */
  thread_id: SessionId,
  event: ThreadEvent,
  at: z.iso.datetime(),
  /** Short id of the doorbell, if the prompt is one. */
  bell: z.string().optional(),
  /** Codex process that ran the hook. Absent if unknown. */
  client: ClientProcess.optional(),
})
export type ThreadNews = z.infer<typeof ThreadNews>
