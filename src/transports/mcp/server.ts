/**
 * The kernel as an MCP server, for both protocol eras: 2025-11-25 and older with `initialize`, and
 * 2026-07-28 with `server/discover`. The SDK speaks the protocol; what is listed and called comes from
 * the kernel. No request is ever made to the client.
 */
import {
  Server,
  type CallToolResult,
  type ListResourcesResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { INSTRUCTIONS } from './instructions.ts'
import type { McpPeer } from './peer.ts'
import { protocolError } from './protocol-error.ts'
import { listResources, maySee, PENDING_TEMPLATE, readResource } from './resources.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { toolProblem, toolResult, type McpProjection } from '../../kernel/project-mcp.ts'
import { toProblem, TurnbellError, type ErrorCode } from '../../contracts/errors.ts'
import { CallerContext } from '../../contracts/http.ts'
import type { Ids } from '../../ports/random.ts'

export interface McpServerOptions {
  kernel: Kernel
  /** Made once and shared by every server. */
  projection: McpProjection
  version: string
  ids: Ids
  /** Who makes this request. */
  peerOf: (context: ServerContext) => McpPeer
}

/** A low-level server, not connected yet. It keeps nothing of its callers, so it may serve one after the other. */
export function createMcpServer({ kernel, projection, version, ids, peerOf }: McpServerOptions): Server {
  const refusal = (code: ErrorCode, detail: string) =>
    protocolError(toProblem(new TurnbellError(code, { detail }), ids.next()))
  const server = new Server(
    { name: 'turnbell', title: 'turnbell', version },
    {
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      instructions: INSTRUCTIONS,
    },
  )

  server.setRequestHandler('tools/list', (_, context) => {
    const { caller, view } = peerOf(context)
    return { tools: [...projection.tools(caller.kind, view)] }
  })

  server.setRequestHandler('tools/call', async ({ params }, context): Promise<CallToolResult> => {
    const peer = peerOf(context)
    const outcome = await kernel.dispatch({
      ...projection.call(params.name, params.arguments),
      caller: peer.caller,
      context: callerContext(context),
      answered: peer.answered,
    })
    return outcome.ok ? toolResult(outcome.result) : toolProblem(outcome.problem)
  })

  server.setRequestHandler('resources/list', async (_, context) => {
    const resources = await listResources(kernel, peerOf(context), callerContext(context))
    return { resources } as ListResourcesResult
  })
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [PENDING_TEMPLATE] }))
  server.setRequestHandler('resources/read', async ({ params }, context) => ({
    contents: await readResource(kernel, peerOf(context), callerContext(context), params.uri),
  }))

  // The 2025 era only; 2026-07-28 subscribes with `subscriptions/listen`, which the SDK's entry serves.
  server.setRequestHandler('resources/subscribe', ({ params }, context) => {
    const { caller, subscriptions } = peerOf(context)
    if (subscriptions === undefined) {
      throw refusal('request_invalid', 'Subscriptions need an MCP session: begin with initialize.')
    }
    if (!maySee(caller, params.uri)) {
      throw refusal('identity_mismatch', `${params.uri} is not ${caller.identity}'s.`)
    }
    subscriptions.add(params.uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }, context) => {
    peerOf(context).subscriptions?.delete(params.uri)
    return {}
  })
  return server
}

/** `_meta` belongs to everybody, so what is not ours or has another form is left alone. */
function callerContext(context: ServerContext): CallerContext {
  const meta = context.mcpReq._meta
  if (meta === undefined) return {}
  const told: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(CallerContext.shape)) {
    const value = (meta as Record<string, unknown>)[name]
    if (value !== undefined && schema.safeParse(value).success) told[name] = value
  }
  return told
}
