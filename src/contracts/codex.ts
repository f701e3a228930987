/** What the bridge and the hooks of Codex tell the persona's shim about the threads that act for it. */
import * as z from 'zod'
import { SessionId } from './ids.ts'

/** The hooks of Codex by their own names, and two calls of turnbell's tools. */
export const ThreadEvent = z.enum([
  'SessionStart',
  'UserPromptSubmit',
  'Stop',
  'Interrupt',
  'SessionEnd',
  /** The agent took what waited. */
  'Drain',
  /** It called another tool of turnbell. */
  'ToolCall',
])
export type ThreadEvent = z.infer<typeof ThreadEvent>

/** The process of a Codex, as it can be found again. */
export const ClientProcess = z.object({
  pid: z.number().int().positive(),
  /** Tells it from a later one with its number. */
  started: z.string(),
  /** Numbers mean something else in another one. */
  namespace: z.string(),
})
export type ClientProcess = z.infer<typeof ClientProcess>

export const ThreadNews = z.object({
  /** Codex's session_id of a hook, threadId of a tool call. */
  thread_id: SessionId,
  event: ThreadEvent,
  at: z.iso.datetime(),
  /** The doorbell that a prompt is, by the short id in its text. */
  bell: z.string().optional(),
  /** The Codex that ran the hook. Absent where the system does not tell. */
  client: ClientProcess.optional(),
})
export type ThreadNews = z.infer<typeof ThreadNews>
