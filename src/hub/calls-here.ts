/** Tool calls of a bridge in the hub's own process: what they would be told at the door is told here. */
import type { Hub } from './hub.ts'
import { projectMcp, type McpView } from '../kernel/project-mcp.ts'
import type { CallHere } from '../transports/bridge/calls-here.ts'
import type { Doors } from '../transports/doors.ts'
import { callTool } from '../transports/mcp/tool-call.ts'
import { viewInQuery } from '../transports/mcp/view.ts'
import type { TenantId } from '../contracts/ids.ts'
import type { Caller } from '../contracts/token.ts'

/** Nothing lies between the kernel and the bridge; what became of a drain is the bridge's to say. */
const WRITTEN = Promise.resolve('written' as const)

type CalledHub = Pick<Hub, 'kernel' | 'underway' | 'isStopping'> & { doors: Pick<Doors, 'ids'> }

export function callsHere({ kernel, doors, underway, isStopping }: CalledHub, tenant_id: TenantId): CallHere {
  const needs = { kernel, projection: projectMcp(kernel), ids: doors.ids }
  let last: { query: string; view: McpView } = { query: '', view: {} }
  return ({ identity, session_id, facets, query }, { name, arguments: args, _meta }) => {
    if (isStopping()) return null
    if (query !== last.query) last = { query, view: viewInQuery(new URLSearchParams(query)) }
    const caller: Caller = { tenant_id, kind: 'agent', identity, session_id }
    if (facets !== undefined) caller.facets = facets
    const peer = { caller, view: last.view, answered: WRITTEN }
    const call = { name: String(name), args, meta: _meta as Record<string, unknown> | undefined }
    const answer = callTool(needs, peer, call)
    underway.add(answer)
    const answered = () => void underway.delete(answer)
    answer.then(answered, answered)
    return answer
  }
}
