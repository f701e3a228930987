/**
 * What an agent without a window is answered when it asks leave to do something. Somebody has to: a turn that
 * waits for an approval waits for ever, and no doorbell rings into it.
 */
import type { AppServer } from './app-server.ts'
import { ThreadAnswer, type ServerRequest } from './protocol.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import type { Log } from '../../src/ports/log.ts'

export interface WindowlessThread {
  keptThread(): string | null
  /** The thread that is rung: the kept one, or another that a person began while they were there. */
  boundThread(): string | null
  /** Resolves once no person's client is there. */
  untilAlone(): Promise<void>
}

/**
 * Only where nobody else is there to answer: in the thread that the shim began, in the one that is rung, and in
 * those that work for them; and while a person has joined not before they left. What they answered themselves is
 * answered a second time then, and the app-server goes by the first. Rejects where a thread cannot be read.
 */
export function answersFor(
  windowless: WindowlessThread,
  { permissions, log }: { permissions: Permissions; log: Log },
) {
  return async (request: ServerRequest, server: Pick<AppServer, 'call'>): Promise<object | null> => {
    const ours = [windowless.keptThread(), windowless.boundThread()]
    if (!(await worksFor(server, request.params.threadId, ours))) return null
    await windowless.untilAlone()
    const answer = answerTo(request, permissions)
    if (answer !== null)
      log.info({ method: request.method, permissions }, 'answered for a thread without a window')
    return answer
  }
}

/** Whether the thread is one of the roots or its subagent's, or one of a subagent of those. */
async function worksFor(
  server: Pick<AppServer, 'call'>,
  threadId: string,
  roots: readonly (string | null)[],
): Promise<boolean> {
  const read = new Set<string>()
  let at: string | null = threadId
  while (at !== null && !roots.includes(at) && !read.has(at)) {
    read.add(at)
    const { thread }: ThreadAnswer = await server.call('thread/read', { threadId: at }, ThreadAnswer)
    at = thread.parentThreadId
  }
  return at !== null && roots.includes(at)
}

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
