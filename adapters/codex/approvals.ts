/**
 * Answers the approval requests of a headless agent. Otherwise a turn would wait for an approval without end, and no
 * doorbell could ring.
 */
import type { AppServer } from './app-server.ts'
import { ThreadAnswer, type ServerRequest } from './protocol.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import type { Log } from '../../src/ports/log.ts'

export interface HeadlessThreads {
  keptThread(): string | null
  /** The thread that is rung: the kept one, or one that a person started while attached. */
  boundThread(): string | null
  /** Resolves when no person's client is attached. */
  untilAlone(): Promise<void>
}

/**
 * Returns a handler that answers only if no person can: in the thread that the shim started, in the bound thread, and
 * in their subagents. While a person is attached it waits until they leave; the app-server ignores a second answer to
 * a request they have answered. The handler rejects if a thread cannot be read.
 */
export function approvalAnswers(
  headless: HeadlessThreads,
  { permissions, log }: { permissions: Permissions; log: Log },
) {
  return async (request: ServerRequest, server: Pick<AppServer, 'call'>): Promise<object | null> => {
    const roots = [headless.keptThread(), headless.boundThread()]
    if (!(await isDescendant(server, request.params.threadId, roots))) return null
    await headless.untilAlone()
    const answer = approvalFor(request, permissions)
    if (answer !== null) log.info({ method: request.method, permissions }, 'approval request answered')
    return answer
  }
}

/** Whether the thread is one of the roots or a descendant of one. */
async function isDescendant(
  server: Pick<AppServer, 'call'>,
  threadId: string,
  roots: readonly (string | null)[],
): Promise<boolean> {
  const read = new Set<string>()
  let current: string | null = threadId
  while (current !== null && !roots.includes(current) && !read.has(current)) {
    read.add(current)
    const { thread }: ThreadAnswer = await server.call('thread/read', { threadId: current }, ThreadAnswer)
    current = thread.parentThreadId
  }
  return current !== null && roots.includes(current)
}

/** Returns the answer to a request; null for an unknown kind, which stays unanswered. */
export function approvalFor({ method, params }: ServerRequest, permissions: Permissions): object | null {
  const allows = permissions === 'allow'
  switch (method) {
    case 'item/commandExecution/requestApproval':
    case 'item/fileChange/requestApproval':
      // `decline` lets the agent continue; `cancel` would end its turn.
      return { decision: allows ? 'accept' : 'decline' }
    case 'item/permissions/requestApproval':
      return { permissions: allows ? params.permissions : {}, scope: 'turn' }
    case 'mcpServer/elicitation/request':
      // Approvals of tool calls also have this form. Only a person can answer a server's own question.
      return allows && params._meta?.codex_approval_kind === 'mcp_tool_call'
        ? { action: 'accept', content: null }
        : { action: 'decline', content: null }
    case 'item/tool/requestUserInput':
      return { answers: {} }
    default:
      return null
  }
}
