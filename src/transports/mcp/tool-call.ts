/** A call of one of the kernel's tools: the same, whoever has read the message that asks for it. */
import type { McpPeer } from './peer.ts'
import { callerContextIn, viewIn } from './said.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { toolAnswer, type McpProjection, type McpToolResult } from '../../kernel/project-mcp.ts'

export interface ToolCallNeeds {
  kernel: Pick<Kernel, 'dispatch'>
  projection: McpProjection
}

export function callTool(
  { kernel, projection }: ToolCallNeeds,
  peer: McpPeer,
  { name, args, meta }: { name: string; args: unknown; meta: Record<string, unknown> | undefined },
): Promise<McpToolResult> {
  const { facade, action, params } = projection.call(name, args)
  const request = {
    ...{ facade, action, params, caller: peer.caller, answered: peer.answered },
    context: callerContextIn(meta),
    narrowing: viewIn(meta, peer.view).narrowing,
  }
  return kernel.dispatch(request).then(toolAnswer)
}
