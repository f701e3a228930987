/** Hooks for tool calls and subagents; they follow the rule of `turn-feed.ts`. */
import type { AgentReport, AgentSpawn, Next, ToolCall, ToolDecision, ToolResult } from './engine.ts'
import type { MakeContent } from './content.ts'
import { cut, given } from './fields.ts'
import type { ModEvent } from './messages.ts'

export interface ToolFeedDeps {
  report: (event: ModEvent) => void
  content: MakeContent
  /** Milliseconds. */
  now: () => number
}

export function createToolFeed({ report, content, now }: ToolFeedDeps) {
  /** Tool calls about which the client asks a person. */
  const asked = new Set<string>()

  function answered(call: string): void {
    if (asked.delete(call)) report({ kind: 'waiting_ended', call })
  }

  return {
    async toolCalled<R extends ToolResult>(e: ToolCall, next: Next<ToolCall, R>): Promise<R> {
      const call = cut(e.tool_use_id)
      const begun_ms = now()
      const { tool, tool_use_id: _, agentId, ...input } = e
      const begun = given({ agent: cut(agentId), content: content(() => JSON.stringify(input)) })
      report({ kind: 'tool_started', call, tool: cut(tool), ...begun })
      let result: R | undefined
      try {
        return (result = await next(e))
      } finally {
        // A call that a person allowed has run, and is no longer asked about.
        const is_refused = asked.has(call)
        answered(call)
        const failed = result === undefined || result.isError === true || undefined
        const denied = result?.deny !== undefined || (is_refused && failed) || undefined
        const more = given({ failed, denied, content: content(() => result?.text) })
        report({ kind: 'tool_ended', call, ms: now() - begun_ms, ...more })
      }
    },

    async toolChecked<R extends ToolDecision>(e: ToolCall, next: Next<ToolCall, R>): Promise<R> {
      const result = await next(e)
      if (result.decision !== 'ask') return result
      const call = cut(e.tool_use_id)
      asked.add(call)
      const more = given({ why: cut(result.reason), agent: cut(e.agentId) })
      report({ kind: 'waiting_started', call, tool: cut(e.tool), ...more })
      return result
    },

    /** The call is allowed. */
    toolRuns<R>(e: ToolCall, next: Next<ToolCall, R>): Promise<R> {
      answered(cut(e.tool_use_id))
      return next(e)
    },

    async agentSpawned<R extends { agentId?: string | undefined }>(
      e: AgentSpawn,
      next: Next<AgentSpawn, R>,
    ): Promise<R> {
      const result = await next(e)
      // Absent if the agent was not started.
      if (result.agentId === undefined) return result
      const [parent, type, task] = [e.parentAgentId, e.subagentType, e.description].map((text) => cut(text))
      report({ kind: 'agent_started', agent: cut(result.agentId), ...given({ parent, type, task }) })
      return result
    },

    agentReported<R>(e: AgentReport, next: Next<AgentReport, R>): Promise<R> {
      const more = given({ status: cut(e.status), content: content(() => e.text) })
      report({ kind: 'agent_ended', agent: cut(e.agentId), ...more })
      return next(e)
    },
  }
}
