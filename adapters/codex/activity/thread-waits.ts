/** Waits for a person in a Codex thread: the requests of the app-server that no client has answered. */
import { given, timeOf, word, type ActivityMessage } from './messages.ts'
import type { Place, RecordFact } from './place.ts'
import type { WaitingFor } from '../../../src/contracts/activity/event.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

/** A request of the app-server. */
export type Asked = Extract<ActivityMessage, { id: number | string }>

export function isAsked(message: ActivityMessage): message is Asked {
  return 'id' in message && Object.hasOwn(ASKING, message.method)
}

/** By the method of the request. */
const ASKING: Readonly<Record<Asked['method'], true>> = {
  'item/commandExecution/requestApproval': true,
  'item/fileChange/requestApproval': true,
  'item/permissions/requestApproval': true,
  'item/tool/requestUserInput': true,
  'mcpServer/elicitation/request': true,
}

interface Wait {
  waiting_id: string
  thread_id: string
  place: Place
}

export function threadWaits(record: RecordFact) {
  /** By the id of the request, oldest first. */
  const waits = new Map<number | string, Wait>()

  function end(id: number | string, at: string | undefined): void {
    const wait = waits.get(id)
    if (wait === undefined) return
    waits.delete(id)
    const data = { waiting_id: wait.waiting_id }
    record({ kind: 'waiting.ended', data }, { ...wait.place, at })
  }

  return {
    /** A client that subscribes again gets the open requests once more. */
    asked(request: Asked, place: Place): void {
      if (waits.has(request.id)) return
      const open = [...waits.values()].map(({ waiting_id }) => waiting_id)
      // One call may have several approvals, and a wait of a call has the id of the call.
      const { item, at } = callAsked(request)
      const waiting_id = word(item === null || open.includes(word(item)) ? `request-${request.id}` : item)
      const where = { ...place, at: at ?? place.at }
      record({ kind: 'waiting.started', data: { waiting_id, ...aboutOf(request) } }, where)
      waits.set(request.id, { waiting_id, thread_id: request.params.threadId, place })
      const oldest = waits.keys().next().value
      if (waits.size > LIMITS.activity_tracked_max && oldest !== undefined) waits.delete(oldest)
    },
    answered: end,
    /** The turn of the thread has ended. */
    endAll(thread_id: string, at: string | undefined): void {
      for (const [id, wait] of waits) if (wait.thread_id === thread_id) end(id, at)
    },
  }
}

/** Returns the call for which the request asks, and when it began. */
function callAsked(request: Asked): { item: string | null; at?: string | undefined } {
  if (request.method === 'mcpServer/elicitation/request') return { item: null }
  return { item: request.params.itemId, at: timeOf(request.params.startedAtMs) }
}

function aboutOf(request: Asked): { for: WaitingFor; what?: string } {
  switch (request.method) {
    case 'item/commandExecution/requestApproval':
      return { for: 'permission', what: 'Bash' }
    case 'item/fileChange/requestApproval':
      return { for: 'permission', what: 'apply_patch' }
    case 'item/permissions/requestApproval':
      return { for: 'permission', what: 'request_permissions' }
    case 'item/tool/requestUserInput':
      return {
        for: 'question',
        ...given({ what: word(request.params.questions[0]?.question ?? '') || undefined }),
      }
    case 'mcpServer/elicitation/request': {
      // Approvals of tool calls also have this form.
      const approves = request.params._meta?.codex_approval_kind === 'mcp_tool_call'
      return {
        for: approves ? 'permission' : 'question',
        ...given({ what: word(request.params.serverName) || undefined }),
      }
    }
  }
}
