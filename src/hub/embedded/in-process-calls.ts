/** Tool calls of a bridge in the hub's own process, with the same checks as calls over HTTP. */
import type { Hub } from '../hub.ts'
import { projectMcp, type McpView } from '../../kernel/projections/project-mcp.ts'
import type { InProcessCall } from '../../bridge/in-process-calls.ts'
import type { HubApi } from '../../transports/hub-api.ts'
import { callTool } from '../../transports/mcp/tool-call.ts'
import { viewInQuery } from '../../transports/mcp/view.ts'
import type { TenantId } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'
import { RECEIVED } from '../../ports/sent-answer.ts'

type CalledHub = Pick<Hub, 'kernel' | 'underway' | 'isStopping'> & { api: Pick<HubApi, 'ids'> }

export function inProcessCalls(
  { kernel, api, underway, isStopping }: CalledHub,
  tenant_id: TenantId,
): InProcessCall {
  const needs = { kernel, projection: projectMcp(kernel), ids: api.ids }
  let last: { query: string; view: McpView } = { query: '', view: {} }
  return ({ identity, session_id, facets, query }, { name, arguments: args, _meta }) => {
    if (isStopping()) return null
    if (query !== last.query) last = { query, view: viewInQuery(new URLSearchParams(query)) }
    const caller: Caller = { tenant_id, kind: 'agent', identity, session_id }
    if (facets !== undefined) caller.facets = facets
    // The answer cannot get lost between the kernel and the bridge. The bridge itself confirms drains.
    const peer = { caller, view: last.view, answer: RECEIVED }
    const call = { name: String(name), args, meta: _meta as Record<string, unknown> | undefined }
    const answer = callTool(needs, peer, call)
    underway.add(answer)
    const answered = () => void underway.delete(answer)
    answer.then(answered, answered)
    return answer
  }
}
