/**
 * Hooks for turns and the session. Each hook of the module passes its event on unchanged, returns the result unchanged
 * and reports what happened. It waits only for the client's own code.
 */
import type {
  CompactResult,
  Next,
  PromptSubmit,
  SessionCompact,
  SessionEnd,
  SessionMeasure,
  TurnComplete,
  TurnStart,
} from './engine.ts'
import type { MakeContent } from './content.ts'
import { cut, given } from './fields.ts'
import type { ModEvent } from './messages.ts'

export interface TurnFeedDeps {
  report: (event: ModEvent) => void
  content: MakeContent
  /** Whether the prompt contains the doorbell that is under way. */
  isBell: (prompt: string) => boolean
  /** Called when a turn of the main agent starts: the session may have another id. */
  mainTurnStarted: () => void
  /** Called after the main agent's conversation was compacted. */
  compacted: () => void
  /** Called when a turn of the main agent ended with an answer of the model. */
  answered: () => void
  /** Called before the session continues under another id. */
  continues: (reason: string) => void
  /** Called after the report that the session ends. */
  ended: () => void
}

/** The client continues under another session id. */
const CONTINUES = ['clear', 'resume']

export function createTurnFeed(deps: TurnFeedDeps) {
  const { report, mainTurnStarted, continues, ended } = deps
  /** The running turn of the main agent; null if none runs, undefined until the first one begins or ends. */
  let turn: string | null | undefined

  return {
    turn: () => turn,
    /** Whether a turn of the main agent runs; null if unknown. */
    busy: () => (turn === undefined ? null : turn !== null),

    promptSubmitted<R>(e: PromptSubmit, next: Next<PromptSubmit, R>): Promise<R> {
      report({ kind: 'prompt', origin: cut(e.origin.kind), ...given({ during: cut(e.turnId) }) })
      return next(e)
    },

    turnStarted<R>(e: TurnStart, next: Next<TurnStart, R>): Promise<R> {
      if (e.agentId === undefined) {
        turn = cut(e.turnId)
        mainTurnStarted()
      }
      const bell = (e.agentId === undefined && deps.isBell(e.text ?? '')) || undefined
      const more = given({ agent: cut(e.agentId), bell, content: deps.content(() => e.text) })
      report({ kind: 'turn_started', turn: cut(e.turnId), ...more })
      return next(e)
    },

    turnCompleted<R>(e: TurnComplete, next: Next<TurnComplete, R>): Promise<R> {
      // Before the report, because the worker may answer it with a doorbell. An interrupted turn may end after the begin
      // of the next one.
      if (e.agentId === undefined && (turn === undefined || turn === cut(e.turnId))) turn = null
      const usage = e.usage && { ...e.usage }
      const more = given({ agent: cut(e.agentId), usage })
      report({ kind: 'turn_ended', turn: cut(e.turnId), reason: cut(e.reason), ...more })
      if (e.agentId === undefined && e.reason === 'answer') deps.answered()
      return next(e)
    },

    stopped<E, R>(e: E, next: Next<E, R>): Promise<R> {
      report({ kind: 'stopped' })
      return next(e)
    },

    measured<R>(e: SessionMeasure, next: Next<SessionMeasure, R>): Promise<R> {
      const { tokens, window } = e.context ?? {}
      report({ kind: 'measured', ...given({ tokens, window, cost_usd: e.cost?.usd }) })
      return next(e)
    },

    async compacted<R extends CompactResult>(e: SessionCompact, next: Next<SessionCompact, R>): Promise<R> {
      // Computed in advance, and perhaps never used.
      if (e.trigger === 'precompute') return next(e)
      report({ kind: 'compacting', trigger: cut(e.trigger), ...given({ agent: cut(e.agentId) }) })
      let result: R | undefined
      try {
        return (result = await next(e))
      } finally {
        const sizes = given({ before: result?.tokensBefore, after: result?.tokensAfter })
        // The event has no agent, so it is the main agent's. Without sizes, nothing was compacted.
        if (e.agentId === undefined) {
          report({ kind: 'compacted', ...sizes })
          if (sizes.before !== undefined || sizes.after !== undefined) deps.compacted()
        }
      }
    },

    sessionEnded<R>(e: SessionEnd, next: Next<SessionEnd, R>): Promise<R> {
      if (CONTINUES.includes(e.reason)) continues(e.reason)
      else {
        report({ kind: 'ended', reason: cut(e.reason) })
        ended()
      }
      return next(e)
    },
  }
}
