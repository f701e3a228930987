/**
 * What an agent without a window is answered when it asks leave to do something. Somebody has to: a turn that
 * waits for an approval waits for ever, and no doorbell rings into it.
 */
import type { ServerRequest } from './protocol.ts'

export type Permissions = 'reject' | 'allow'

/** Null for what is nobody's to decide here; it stays unanswered. */
export function answerTo({ method, params }: ServerRequest, permissions: Permissions): object | null {
  const allows = permissions === 'allow'
  switch (method) {
    case 'item/commandExecution/requestApproval':
    case 'item/fileChange/requestApproval':
      // A declined command is told to the agent, which goes on; `cancel` would end its turn.
      return { decision: allows ? 'accept' : 'decline' }
    case 'item/permissions/requestApproval':
      return { permissions: allows ? params.permissions : {}, scope: 'turn' }
    case 'mcpServer/elicitation/request':
      // The approval of a tool call comes in this form too. A server's own question has no answer but a person's.
      return allows && params._meta?.codex_approval_kind === 'mcp_tool_call'
        ? { action: 'accept', content: null }
        : { action: 'decline', content: null }
    case 'item/tool/requestUserInput':
      return { answers: {} }
    default:
      return null
  }
}
