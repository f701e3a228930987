/**
 * The kernel as an MCP server, for both protocol eras: 2025-11-25 and older with `initialize`, and
 * 2026-07-28 with `server/discover`. The SDK speaks the protocol; what is listed and called comes from
 * the kernel. No request is ever made to the client.
 */
import {
  type Server,
  type CallToolResult,
  type InputRequiredResult,
  type ListResourcesResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { NO_EXTENSION, type McpExtension } from './extension.ts'
import { instructedServer } from './instructed-server.ts'
import { INSTRUCTIONS, instructionsFor } from './instructions.ts'
import type { McpPeer } from './peer.ts'
import { protocolError } from './protocol-error.ts'
import { listResources, maySee, PENDING_TEMPLATE, readResource } from './resources.ts'
import { callerContextIn, viewIn } from './said.ts'
import { serverInfo } from './server-info.ts'
import { callTool } from './tool-call.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { McpProjection } from '../../kernel/project-mcp.ts'
import type { CallerContext } from '../../contracts/http.ts'
import { toProblem, TurnbellError, type ErrorCode } from '../../contracts/errors.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Ids } from '../../ports/random.ts'

export interface McpServerOptions {
  kernel: Kernel
  /** Made once and shared by every server. */
  projection: McpProjection
  version: string
  ids: Ids
  /** Who makes this request. */
  peerOf: (context: ServerContext) => McpPeer
  extension?: McpExtension
}

/** A low-level server, not connected yet. It keeps nothing of its callers, so it may serve one after the other. */
export function createMcpServer(options: McpServerOptions): Server {
  const { kernel, projection, version, ids, peerOf, extension = NO_EXTENSION } = options
  const refusal = (code: ErrorCode, detail: string, more?: object) =>
    protocolError(toProblem(new TurnbellError(code, { detail }), ids.next()), more)
  const mustSee = (caller: Caller, uri: string) => {
    if (!maySee(caller, uri))
      throw refusal('identity_mismatch', `${uri} is not ${caller.identity}'s.`, { uri })
  }
  const settings = {
    capabilities: {
      ...extension.capabilities,
      tools: { listChanged: true },
      resources: { subscribe: true },
    },
    instructions: INSTRUCTIONS,
    ...(extension.requestState === undefined ? {} : { requestState: extension.requestState }),
  }
  const server = instructedServer(serverInfo(version), settings, (context) =>
    instructionsFor(kernel, peerOf(context)),
  )
  extension.install(server)

  const told = <T>(what: () => T): T => {
    try {
      return what()
    } catch (error) {
      throw protocolError(toProblem(error, ids.next()))
    }
  }
  /** Within the bounds that this one request sets as well. */
  const boundedPeer = (context: ServerContext): McpPeer => {
    const peer = peerOf(context)
    return { ...peer, view: told(() => viewIn(context.mcpReq._meta, peer.view)) }
  }
  const callerContext = (context: ServerContext): CallerContext =>
    told(() => callerContextIn(context.mcpReq._meta, peerOf(context).context))
  const extensionTools = [...extension.tools.values()].map(({ tool }) => tool)
  server.setRequestHandler('tools/list', (_, context) => {
    const { caller, view } = boundedPeer(context)
    return { tools: [...told(() => projection.tools(caller, view)), ...extensionTools] }
  })

  type Called = Promise<CallToolResult | InputRequiredResult>
  server.setRequestHandler('tools/call', async ({ params }, context): Called => {
    const { name, arguments: args } = params
    const added = extension.tools.get(name)
    if (added !== undefined) return added.call(args ?? {}, context)
    return callTool({ kernel, projection, ids }, peerOf(context), { name, args, meta: context.mcpReq._meta })
  })

  server.setRequestHandler('resources/list', async (_, context) => {
    const resources = await listResources(kernel, boundedPeer(context), callerContext(context))
    return { resources: [...resources, ...extension.resources] } as ListResourcesResult
  })
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [PENDING_TEMPLATE, ...extension.resourceTemplates],
  }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const added = extension.read(uri)
    if (added !== null) return { contents: added }
    const peer = boundedPeer(context)
    mustSee(peer.caller, uri)
    return { contents: await readResource(kernel, peer, callerContext(context), uri) }
  })

  // The 2025 era only; 2026-07-28 subscribes with `subscriptions/listen`, which the SDK's entry serves.
  server.setRequestHandler('resources/subscribe', ({ params }, context) => {
    const { caller, subscriptions } = peerOf(context)
    if (subscriptions === undefined) {
      throw refusal('request_invalid', 'Subscriptions need an MCP session: begin with initialize.')
    }
    if (extension.read(params.uri) === null) mustSee(caller, params.uri)
    subscriptions.add(params.uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }, context) => {
    peerOf(context).subscriptions?.delete(params.uri)
    return {}
  })
  return server
}
