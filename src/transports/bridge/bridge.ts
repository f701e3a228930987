/**
 * MCP for one client, carried to the hub: what `turnbell mcp` serves over stdio, and what the Claude
 * Code worker is built on. It keeps no MCP session of its own, so the client notices neither a restart
 * of the hub nor, where a keeper brings it back, one of the bridge.
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  isJSONRPCErrorResponse,
  type CallToolResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ReadResourceResult,
  type RequestId,
  type Server,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createChanges } from './changes.ts'
import { createDrains, type Drains } from './drains.ts'
import type { StdioLines } from './stdio-lines.ts'
import { createPlainLines } from './plain-lines.ts'
import { ownMeta } from './own-meta.ts'
import { createToolCalls, type ToolCall, type ToolCallOptions, type ToolCalls } from './tool-calls.ts'
import { createToolList } from './tool-list.ts'
import { RpcFailure, type Params, type Result, type Upstream } from './upstream.ts'
import { withProblem } from '../mcp/exchanges.ts'
import { instructedServer } from '../mcp/instructed-server.ts'
import { INSTRUCTIONS } from '../mcp/instructions.ts'
import { protocolError, refusalOf } from '../mcp/protocol-error.ts'
import { serverInfo } from '../mcp/server-info.ts'
import { toolProblem } from '../../kernel/project-mcp.ts'
import { toProblem, type Problem } from '../../contracts/errors.ts'
import type { Clock } from '../../ports/clock.ts'

export interface BridgeOptions extends ToolCallOptions {
  transport: StdioLines
  /** Those of every client, or a request for those of this one, which must not reject. */
  instructions: string | (() => Promise<string>)
  version: string
  clock: Pick<Clock, 'after'>
  /** The client asked for the tools: it is ready to use them. */
  onToolsListed?: () => void
  onClose?: () => void
}

export interface Bridge {
  drains: Drains
  calls: Pick<ToolCalls, 'settled'>
}

export function createBridge(options: BridgeOptions): Bridge {
  const { upstream, transport, clock, log } = options
  const drains = createDrains({ upstream, clock, log })
  const calls = createToolCalls(options, drains)
  const servers = new Set<Server>()
  /** Resources a client of the 2025 era subscribed to; for a newer one the SDK sorts them out. */
  let subscribed: Set<string> | null = null
  const tell = (what: (server: Server) => Promise<void>) => {
    for (const server of servers) {
      what(server).catch((error: unknown) => log.debug({ err: error }, 'the client was not told of a change'))
    }
  }
  const toolsChanged = () => tell((server) => server.sendToolListChanged())
  const changes = createChanges({
    upstream,
    clock,
    log,
    onTools: toolsChanged,
    onResource(uri) {
      if (subscribed?.has(uri) !== false) tell((server) => server.sendResourceUpdated({ uri }))
    },
  })
  const tools = createToolList(upstream, log, toolsChanged)

  const problemOf = (error: unknown): Problem => {
    const instance = options.ids.next()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') log.error({ err: error, instance }, 'a call broke')
    return problem
  }
  /** The hub's own errors pass as they are, as long as they say what is wrong. */
  const asProtocolError = (error: unknown): ProtocolError => {
    if (error instanceof ProtocolError) return error
    if (!(error instanceof RpcFailure)) return protocolError(problemOf(error))
    const { code, message, data = problemOf(refusalOf(error)) } = error
    return new ProtocolError(code, message, data)
  }

  async function callTool(request_id: RequestId, call: ToolCall): Promise<CallToolResult> {
    try {
      return await calls.call(request_id, call)
    } catch (error) {
      if (error instanceof RpcFailure) throw asProtocolError(error)
      // Nobody reads it, and it is no bug that a call ends when its client gives it up.
      if (call.signal.aborted) throw error
      return toolProblem(problemOf(error))
    }
  }
  const plain = createPlainLines({
    version: options.version,
    call: callTool,
    asError(error) {
      const { code, message, data } = asProtocolError(error)
      return { code, message, data }
    },
    send: (message) => transport.send(message),
    onFailed: (error) => log.warn({ err: error }, 'an answer did not reach the client'),
  })

  function serve({ era }: { era: 'legacy' | 'modern' }): Server {
    plain.served(era)
    const { instructions } = options
    const is_fixed = typeof instructions === 'string'
    const settings = {
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      instructions: is_fixed ? instructions : INSTRUCTIONS,
    }
    const server = instructedServer(serverInfo(options.version), settings, is_fixed ? null : instructions)
    server.setRequestHandler('tools/list', async ({ params }, { mcpReq }) => {
      try {
        return await tools(metaOf(params, mcpReq))
      } catch (error) {
        throw asProtocolError(error)
      } finally {
        options.onToolsListed?.()
      }
    })
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallToolResult> => {
      const { name, arguments: args = {} } = params
      plain.agreed(mcpReq.envelope)
      return callTool(mcpReq.id, { name, args, meta: metaOf(params, mcpReq), signal: mcpReq.signal })
    })
    forwardResources(server, era, upstream, asProtocolError)
    server.fallbackRequestHandler = () =>
      Promise.reject(
        asProtocolError(new RpcFailure(ProtocolErrorCode.MethodNotFound, 'Method not found', undefined)),
      )
    if (era === 'legacy') {
      // It was promised to hear of changed tools, and has no way to ask for it.
      changes.want([])
      const uris = (subscribed ??= new Set())
      server.setRequestHandler('resources/subscribe', ({ params }) => {
        uris.add(params.uri)
        changes.want([params.uri])
        return {}
      })
      server.setRequestHandler('resources/unsubscribe', ({ params }) => {
        uris.delete(params.uri)
        return {}
      })
    }
    servers.add(server)
    server.onclose = () => servers.delete(server)
    return server
  }

  const send = transport.send.bind(transport)
  transport.send = async (message) => {
    try {
      // What the SDK refuses by itself, as the hub tells it. Only what has an error is held against the form of one.
      await send(
        'error' in message && isJSONRPCErrorResponse(message) ? withProblem(message, options) : message,
      )
    } catch (error) {
      if (!('method' in message) && message.id !== undefined) calls.unwritten(message.id)
      throw error
    }
  }
  // A client whose input has ended may be one that is ending: it has not read a drain until it says more.
  transport.onwritten = (request_id, how) => calls.written(request_id, transport.half_closed ? 'error' : how)
  transport.onplain = (call) => plain.take(call)
  transport.refusal = ({ id, code, error, is_tool_call }) => {
    const problem = problemOf(error)
    if (is_tool_call) return { jsonrpc: '2.0', id, result: plain.inEra(toolProblem(problem)) }
    return { jsonrpc: '2.0', id, error: { code, message: error.detail, data: problem } }
  }
  transport.onreceived = (message) => {
    if (!('method' in message)) return
    // The SDK answers a listen itself, and knows nothing of a plain call: no handler would hear of either.
    if (message.method === 'subscriptions/listen') changes.want(resourcesIn(message.params))
    if (message.method === 'notifications/cancelled') plain.cancelled(message.params?.['requestId'])
  }
  /** A client that goes on with it must not fill the log. */
  const told = new Set<string>()
  transport.onpassedover = (why) => {
    log[told.has(why) ? 'debug' : 'warn']({}, why)
    told.add(why)
  }
  transport.onended = () => {
    plain.close()
    changes.close()
    options.onClose?.()
  }
  serveStdio(serve, { transport, onerror: (error) => log.warn({ err: error }, 'mcp') })
  return { drains, calls }
}

interface Said {
  _meta?: Record<string, unknown> | undefined
}
interface From {
  mcpReq: Said
}

/** The SDK lifts a part of it out of the params, another in each era. */
function metaOf(params: Said | undefined, mcpReq: Said): Record<string, unknown> {
  return { ...params?._meta, ...mcpReq._meta }
}

function forwardResources(
  server: Server,
  era: 'legacy' | 'modern',
  upstream: Upstream,
  asProtocolError: (error: unknown) => ProtocolError,
): void {
  const forward = async <T>(method: string, params: Said | undefined, { mcpReq }: From): Promise<T> => {
    try {
      const told: Params = { ...params, _meta: ownMeta(metaOf(params, mcpReq)) }
      const result = await upstream.request(method, told, { repeatable: true })
      return (era === 'modern' ? result : withoutNovelties(result)) as T
    } catch (error) {
      throw asProtocolError(error)
    }
  }
  server.setRequestHandler('resources/list', ({ params }, from) =>
    forward<ListResourcesResult>('resources/list', params, from),
  )
  server.setRequestHandler('resources/templates/list', ({ params }, from) =>
    forward<ListResourceTemplatesResult>('resources/templates/list', params, from),
  )
  server.setRequestHandler('resources/read', ({ params }, from) =>
    forward<ReadResourceResult>('resources/read', params, from),
  )
}

/** Without the fields that results have since 2026-07-28. */
function withoutNovelties({ resultType: _, ttlMs: __, cacheScope: ___, ...result }: Result): Result {
  return result
}

function resourcesIn(params: unknown): string[] {
  const { notifications } = (params ?? {}) as { notifications?: { resourceSubscriptions?: unknown } }
  const uris = notifications?.resourceSubscriptions
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : []
}
