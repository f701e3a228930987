/** A call of one of the kernel's tools: the same, whoever has read the message that asks for it. */
import type { McpPeer } from './peer.ts'
import { callerContextIn, viewIn } from './said.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { toolAnswer, toolProblem, type McpProjection, type McpToolResult } from '../../kernel/project-mcp.ts'
import { toProblem } from '../../contracts/errors.ts'
import type { CallerContext, Narrowing } from '../../contracts/http.ts'
import type { Ids } from '../../ports/random.ts'

export interface ToolCallNeeds {
  kernel: Pick<Kernel, 'dispatch'>
  projection: McpProjection
  ids: Ids
}

/** Never rejects: bounds or a context that are none are told as every other refusal is. */
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
    ...{ facade, action, params, caller: peer.caller, answered: peer.answered },
    context,
    narrowing,
  }
  return kernel.dispatch(request).then(toolAnswer)
}
