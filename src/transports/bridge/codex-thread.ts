/**
 * Codex names the thread in every tool call. It is the session whose turns the surface reports, so what is
 * drained is leased to it. Never taken from the environment: one app-server serves many threads, and its
 * environment is that of whoever started it.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import type { SessionId } from '../../contracts/ids.ts'
import type { ToolCall } from './tool-calls.ts'

/** Null where the call names none. Throws `subagent_forbidden` for a drain from a subagent's thread. */
export function codexThread({ name, meta }: ToolCall): SessionId | null {
  const thread_id = textIn(meta, 'threadId')
  if (thread_id === null) return null
  const root = textIn(meta, 'sessionId') ?? thread_id
  if (root !== thread_id && name === 'signals_pending') {
    throw new TurnbellError('subagent_forbidden', {
      detail: `The call came from the thread ${thread_id}, which works for ${root}.`,
    })
  }
  return thread_id
}

function textIn(meta: Record<string, unknown>, key: string): string | null {
  const value = meta[key]
  return typeof value === 'string' && value !== '' ? value : null
}
