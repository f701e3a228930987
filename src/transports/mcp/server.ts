/**
 * The kernel as an MCP server for both protocol eras: 2025-11-25 and older with `initialize`, and 2026-07-28 with
 * `server/discover`. The SDK implements the protocol; tools and resources come from the kernel. The server sends no
 * requests to clients.
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
import { callerContextIn, viewIn } from './request-meta.ts'
import { serverInfo } from './server-info.ts'
import { callTool } from './tool-call.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { McpProjection } from '../../kernel/projections/project-mcp.ts'
import type { CallerContext } from '../../contracts/http.ts'
import { toProblem, TurnbellError, type ErrorCode } from '../../contracts/errors/errors.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Ids } from '../../ports/random.ts'

export interface McpServerOptions {
  kernel: Kernel
  /** Shared by all servers. */
  projection: McpProjection
  version: string
  ids: Ids
  /** Returns the sender of a request. */
  peerOf: (context: ServerContext) => McpPeer
  extension?: McpExtension
}

/** Returns a low-level server that is not connected yet. It has no state of callers, so one server can serve all of them. */
export function createMcpServer(options: McpServerOptions): Server {
  const { kernel, version, peerOf, extension = NO_EXTENSION } = options
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
  serveTools(server, options)
  serveResources(server, options)
  serveSubscriptions(server, options)
  return server
}

type Called = Promise<CallToolResult | InputRequiredResult>

function serveTools(server: Server, options: McpServerOptions): void {
  const { kernel, projection, ids, peerOf, extension = NO_EXTENSION } = options
  const extension_tools = [...extension.tools.values()].map(({ tool }) => tool)
  server.setRequestHandler('tools/list', (_, context) => {
    const { caller, view } = boundedPeer(options, context)
    return { tools: [...orProblem(ids, () => projection.tools(caller, view)), ...extension_tools] }
  })
  server.setRequestHandler('tools/call', async ({ params }, context): Called => {
    const { name, arguments: args } = params
    const added = extension.tools.get(name)
    if (added !== undefined) return added.call(args ?? {}, context)
    return callTool({ kernel, projection, ids }, peerOf(context), { name, args, meta: context.mcpReq._meta })
  })
}

function serveResources(server: Server, options: McpServerOptions): void {
  const { kernel, extension = NO_EXTENSION } = options
  server.setRequestHandler('resources/list', async (_, context) => {
    const resources = await listResources(
      kernel,
      boundedPeer(options, context),
      callerContext(options, context),
    )
    return { resources: [...resources, ...extension.resources] } as ListResourcesResult
  })
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [PENDING_TEMPLATE, ...extension.resourceTemplates],
  }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const added = extension.read(uri)
    if (added !== null) return { contents: added }
    const peer = boundedPeer(options, context)
    requireVisible(options, peer.caller, uri)
    return { contents: await readResource(kernel, peer, callerContext(options, context), uri) }
  })
}

/** For the 2025 era. Clients of 2026-07-28 use `subscriptions/listen`, which the SDK's entry point serves. */
function serveSubscriptions(server: Server, options: McpServerOptions): void {
  const { peerOf, extension = NO_EXTENSION } = options
  server.setRequestHandler('resources/subscribe', ({ params }, context) => {
    const { caller, subscriptions } = peerOf(context)
    if (subscriptions === undefined) {
      const detail = 'Subscriptions need an MCP session: send initialize first.'
      throw refusal(options, 'request_invalid', detail)
    }
    if (extension.read(params.uri) === null) requireVisible(options, caller, params.uri)
    subscriptions.add(params.uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }, context) => {
    peerOf(context).subscriptions?.delete(params.uri)
    return {}
  })
}

type PeerOptions = Pick<McpServerOptions, 'peerOf' | 'ids'>

/** Returns the peer, with its view restricted by the bounds of this request. */
function boundedPeer({ peerOf, ids }: PeerOptions, context: ServerContext): McpPeer {
  const peer = peerOf(context)
  return { ...peer, view: orProblem(ids, () => viewIn(context.mcpReq._meta, peer.view)) }
}

function callerContext({ peerOf, ids }: PeerOptions, context: ServerContext): CallerContext {
  return orProblem(ids, () => callerContextIn(context.mcpReq._meta, peerOf(context).context))
}

/** Converts an error into a protocol error with a problem. */
function orProblem<T>(ids: Ids, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw protocolError(toProblem(error, ids.next()))
  }
}

function requireVisible(options: PeerOptions, caller: Caller, uri: string): void {
  if (maySee(caller, uri)) return
  throw refusal(options, 'identity_mismatch', `${uri} does not belong to ${caller.identity}.`, { uri })
}

function refusal({ ids }: PeerOptions, code: ErrorCode, detail: string, more?: object): Error {
  return protocolError(toProblem(new TurnbellError(code, { detail }), ids.next()), more)
}
