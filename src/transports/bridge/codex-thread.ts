/**
 * Codex names the thread in every tool call. It is the session whose turns the surface reports, so what is
 * drained is leased to it. Never taken from the environment: one app-server serves many threads, and its
 * environment is that of whoever started it.
 */
import { askedFor, asksForQueue, DRAIN_TOOL, isDrain } from '../../contracts/drain.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Asked, ToolCall } from './tool-calls.ts'
import type { ThreadNews } from '../../contracts/codex.ts'

export interface CodexThread {
  thread_id: SessionId
  /** It works for another thread, which is the one that acts for the persona. */
  subagent: boolean
}

/** Null where the call names none. Throws `subagent_forbidden` for a drain from a subagent's thread. */
export function codexThread({ name, args, meta }: ToolCall): CodexThread | null {
  const thread_id = textIn(meta, 'threadId')
  if (thread_id === null) return null
  const root = textIn(meta, 'sessionId') ?? thread_id
  if (root !== thread_id && asksForQueue(name, args)) {
    throw new TurnbellError('subagent_forbidden', {
      detail: `The call came from the thread ${thread_id}, which works for ${root}.`,
    })
  }
  return { thread_id, subagent: root !== thread_id }
}

/** What the call tells the shim, which binds the thread that acts for the persona. */
export function newsOfCall(thread: CodexThread, { name, args }: ToolCall, at: string): ThreadNews | null {
  if (thread.subagent) return null
  return { thread_id: thread.thread_id, event: isDrain(name, args) ? 'Drain' : 'ToolCall', at }
}

/** A drain that asks for more than Codex may show its model brings less: what it cuts away would count as read. */
export function asFarAsCodexShows(call: ToolCall): Asked {
  if (textIn(call.meta, 'threadId') === null || !isDrain(call.name, call.args)) return call
  const { params } = askedFor(call.name, call.args)
  const { limit, max_tokens } = params
  const shown = LIMITS.drain_tokens_shown_by_codex
  const wants =
    max_tokens === undefined ? isAbove(limit, LIMITS.drain_limit_default) : isAbove(max_tokens, shown)
  return wants ? { name: DRAIN_TOOL, args: { ...params, max_tokens: shown } } : call
}

const isAbove = (value: unknown, bound: number) => typeof value === 'number' && value > bound

function textIn(meta: Record<string, unknown>, key: string): string | null {
  const value = meta[key]
  return typeof value === 'string' && value !== '' ? value : null
}
