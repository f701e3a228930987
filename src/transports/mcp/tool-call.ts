/** Calls one of the kernel's tools, for the SDK's server, the fast path and in-process calls. */
import type { McpPeer } from './peer.ts'
import { callerContextIn, viewIn } from './request-meta.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import {
  toolAnswer,
  toolProblem,
  type McpProjection,
  type McpToolResult,
} from '../../kernel/projections/project-mcp.ts'
import { toProblem } from '../../contracts/errors/errors.ts'
import type { CallerContext, Narrowing } from '../../contracts/http.ts'
import type { Ids } from '../../ports/random.ts'

export interface ToolCallNeeds {
  kernel: Pick<Kernel, 'dispatch'>
  projection: McpProjection
  ids: Ids
}

/** Never rejects: invalid bounds or an invalid context are returned as a problem. */
export function callTool(
  { kernel, projection, ids }: ToolCallNeeds,
  peer: McpPeer,
  { name, args, meta }: { name: string; args: unknown; meta: Record<string, unknown> | undefined },
): Promise<McpToolResult> {
  const { facade, action, params } = projection.call(name, args)
  let narrowing: Narrowing | undefined
  let context: CallerContext
  try {
    narrowing = viewIn(meta, peer.view).narrowing
    context = callerContextIn(meta, peer.context)
  } catch (error) {
    return Promise.resolve(toolProblem(toProblem(error, ids.next())))
  }
  const request = {
    facade,
    action,
    params,
    caller: peer.caller,
    answer: peer.answer,
    context,
    narrowing,
    for_model: true,
    budget: peer.budget,
  }
  return kernel.dispatch(request).then(toolAnswer)
}
