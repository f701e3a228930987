/**
 * The thread that Codex names in every tool call. It is the session whose turns the surface reports, so
 * drained signals are leased to it. It is never read from the environment, because one app-server serves many
 * threads.
 */
import { resolveCall, isQueueCall, DRAIN_TOOL, isDrain } from '../contracts/drain-calls.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { SessionId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { ToolRequest, ToolCall } from './tool-call.ts'
import type { ThreadNews } from '../contracts/clients/codex.ts'

export interface CodexThread {
  thread_id: SessionId
  /** Whether the thread works for another thread, which acts for the persona. */
  subagent: boolean
}

/**
 * Returns null if the call names no thread. Throws `subagent_forbidden` for a drain from a subagent's thread.
 */
export function codexThread({ name, args, meta }: ToolCall): CodexThread | null {
  const thread_id = textIn(meta, 'threadId')
  if (thread_id === null) return null
  const root = textIn(meta, 'sessionId') ?? thread_id
  if (root !== thread_id && isQueueCall(name, args)) {
    throw new TurnbellError('subagent_forbidden', {
      detail: `Thread ${thread_id} is a subagent of thread ${root}.`,
    })
  }
  return { thread_id, subagent: root !== thread_id }
}

/** Returns the event by which the shim binds the thread that acts for the persona. */
export function threadEventOf(thread: CodexThread, { name, args }: ToolCall, at: string): ThreadNews | null {
  if (thread.subagent) return null
  return { thread_id: thread.thread_id, event: isDrain(name, args) ? 'Drain' : 'ToolCall', at }
}

/** Limits a drain to what Codex shows its model; signals cut off by Codex would count as read. */
export function limitToCodexDisplay(call: ToolCall): ToolRequest {
  if (textIn(call.meta, 'threadId') === null || !isDrain(call.name, call.args)) return call
  const { params } = resolveCall(call.name, call.args)
  const { limit, max_tokens } = params
  const shown = LIMITS.drain_tokens_shown_by_codex
  const exceeds_display =
    max_tokens === undefined ? exceeds(limit, LIMITS.drain_limit_default) : exceeds(max_tokens, shown)
  return exceeds_display ? { name: DRAIN_TOOL, args: { ...params, max_tokens: shown } } : call
}

const exceeds = (value: unknown, bound: number) => typeof value === 'number' && value > bound

function textIn(meta: Record<string, unknown>, key: string): string | null {
  const value = meta[key]
  return typeof value === 'string' && value !== '' ? value : null
}
