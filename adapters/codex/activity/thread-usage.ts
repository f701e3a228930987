/** Tokens that a Codex thread used: those of each turn, and the size of its context. */
import { given, type Figures, type MessageOf } from './messages.ts'
import type { ActivityData } from '../../../src/contracts/activity/event.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

type Updated = MessageOf<'thread/tokenUsage/updated'>['params']

export type ThreadUsage = ReturnType<typeof threadUsage>

export function threadUsage() {
  /** The newest figures of each thread, and those before its turn. Oldest first. */
  const threads = new Map<string, { total: Figures; context: number; turn_id: string; before: Figures }>()

  return {
    /**
     * Returns the tokens of the turn so far. The client sums those of the thread and reports them after each request to the
     * model; so the figures of the first request of an unknown thread are the first ones of its turn.
     */
    updated({ threadId, turnId, tokenUsage }: Updated): Omit<ActivityData<'usage'>, 'model'> {
      const { total, last, modelContextWindow } = tokenUsage
      const known = threads.get(threadId)
      let before = known === undefined ? without(total, last) : known.total
      if (known?.turn_id === turnId) before = known.before
      // A thread that was reverted counts again.
      if (before.totalTokens > total.totalTokens) before = without(total, last)
      threads.delete(threadId)
      threads.set(threadId, { total, context: last.totalTokens, turn_id: turnId, before })
      const oldest = threads.keys().next().value
      if (threads.size > LIMITS.activity_tracked_max && oldest !== undefined) threads.delete(oldest)
      const used = without(total, before)
      return {
        usage_id: turnId,
        input_tokens: count(used.inputTokens - used.cachedInputTokens),
        output_tokens: count(used.outputTokens),
        cache_read_tokens: count(used.cachedInputTokens),
        cache_write_tokens: count(used.cacheWriteInputTokens),
        context_tokens: count(last.totalTokens),
        ...given({ context_window: modelContextWindow == null ? undefined : count(modelContextWindow) }),
      }
    },
    /** Size of the thread's context; undefined if it is not known. */
    context: (thread_id: string): number | undefined => threads.get(thread_id)?.context,
  }
}

function without(a: Figures, b: Figures): Figures {
  return {
    totalTokens: a.totalTokens - b.totalTokens,
    inputTokens: a.inputTokens - b.inputTokens,
    cachedInputTokens: a.cachedInputTokens - b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens - b.cacheWriteInputTokens,
    outputTokens: a.outputTokens - b.outputTokens,
  }
}

const count = (tokens: number) => Math.max(0, Math.round(tokens))
