/**
 * Serves MCP to one client by forwarding its requests to the hub. `turnbell mcp` uses it over stdio, and the
 * Claude Code worker is built on it. The bridge keeps no MCP session of its own, so the client notices
 * neither a restart of the hub nor, under a supervisor, one of the bridge.
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
import { createClientNotifications, type ClientNotifications } from './client-notifications.ts'
import { createDrains, type Drains } from './drains.ts'
import type { StdioLines } from './stdio/stdio-lines.ts'
import { createFastPathLines, type FastPathLines } from './stdio/fast-path-lines.ts'
import { ownMeta } from './own-meta.ts'
import type { ToolCall } from './tool-call.ts'
import { createToolCalls, type ToolCallOptions, type ToolCalls } from './tool-calls.ts'
import { createToolList } from './tool-list.ts'
import { RpcFailure, type Params, type Result } from './hub/answers.ts'
import type { Upstream } from './hub/upstream.ts'
import { withProblem } from '../transports/mcp/exchanges.ts'
import { instructedServer } from '../transports/mcp/instructed-server.ts'
import { INSTRUCTIONS } from '../transports/mcp/instructions.ts'
import { protocolError, refusalOf } from '../transports/mcp/protocol-error.ts'
import { serverInfo } from '../transports/mcp/server-info.ts'
import { toolProblem } from '../kernel/projections/project-mcp.ts'
import { toProblem, type Problem } from '../contracts/errors/errors.ts'
import type { Clock } from '../ports/clock.ts'

export interface BridgeOptions extends ToolCallOptions {
  transport: StdioLines
  /** Fixed instructions, or a function that requests those of this client and must not reject. */
  instructions: string | (() => Promise<string>)
  version: string
  clock: Pick<Clock, 'after'>
  /** Called when the client lists the tools. */
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
  const notifications = createClientNotifications({ upstream, clock, log })
  const tools = createToolList(upstream, log, () => notifications.toolsChanged())
  const { problemOf, asProtocolError } = createErrorMapping(options)

  async function callTool(request_id: RequestId, call: ToolCall): Promise<CallToolResult> {
    try {
      return await calls.call(request_id, call)
    } catch (error) {
      if (error instanceof RpcFailure) throw asProtocolError(error)
      // A call that its client cancelled needs no answer and is not a bug.
      if (call.signal.aborted) throw error
      return toolProblem(problemOf(error))
    }
  }
  const fast_path = createFastPathLines({
    version: options.version,
    call: callTool,
    asError(error) {
      const { code, message, data } = asProtocolError(error)
      return { code, message, data }
    },
    send: (message) => transport.send(message),
    onFailed: (error) => log.warn({ err: error }, 'sending an answer to the client failed'),
  })

  function serve({ era }: { era: 'legacy' | 'modern' }): Server {
    fast_path.onServerCreated(era)
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
      fast_path.onSdkCall(mcpReq.envelope)
      return callTool(mcpReq.id, { name, args, meta: metaOf(params, mcpReq), signal: mcpReq.signal })
    })
    forwardResources(server, era, upstream, asProtocolError)
    server.fallbackRequestHandler = () =>
      Promise.reject(
        asProtocolError(new RpcFailure(ProtocolErrorCode.MethodNotFound, 'Method not found', undefined)),
      )
    notifications.add(server, era)
    return server
  }

  connectTransport({ options, calls, fast_path, notifications, problemOf })
  serveStdio(serve, { transport, onerror: (error) => log.warn({ err: error }, 'MCP error') })
  return { drains, calls }
}

function createErrorMapping({ ids, log }: Pick<BridgeOptions, 'ids' | 'log'>) {
  const problemOf = (error: unknown): Problem => {
    const instance = ids.next()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') log.error({ err: error, instance }, 'call failed')
    return problem
  }
  /** Errors of the hub are passed on unchanged if they contain a problem. */
  const asProtocolError = (error: unknown): ProtocolError => {
    if (error instanceof ProtocolError) return error
    if (!(error instanceof RpcFailure)) return protocolError(problemOf(error))
    const { code, message, data = problemOf(refusalOf(error)) } = error
    return new ProtocolError(code, message, data)
  }
  return { problemOf, asProtocolError }
}

interface Connected {
  options: BridgeOptions
  calls: ToolCalls
  fast_path: FastPathLines
  notifications: ClientNotifications
  problemOf: (error: unknown) => Problem
}

/** Sets the callbacks of the transport that the SDK does not use. */
function connectTransport({ options, calls, fast_path, notifications, problemOf }: Connected): void {
  const { transport, log } = options
  const send = transport.send.bind(transport)
  transport.send = async (message) => {
    try {
      // Adds the hub's problem object to errors that the SDK creates. Only messages with an error are parsed
      // as one.
      await send(
        'error' in message && isJSONRPCErrorResponse(message) ? withProblem(message, options) : message,
      )
    } catch (error) {
      if (!('method' in message) && message.id !== undefined) calls.unwritten(message.id)
      throw error
    }
  }
  // A client whose input has ended may be exiting. A drain counts as unread until the client sends more.
  transport.onwritten = (request_id, how) => calls.written(request_id, transport.half_closed ? 'error' : how)
  transport.onfastpath = (call) => fast_path.accept(call)
  transport.refusal = ({ id, code, error, is_tool_call }) => {
    const problem = problemOf(error)
    if (is_tool_call) return { jsonrpc: '2.0', id, result: fast_path.inEra(toolProblem(problem)) }
    return { jsonrpc: '2.0', id, error: { code, message: error.detail, data: problem } }
  }
  transport.onreceived = (message) => {
    if (!('method' in message)) return
    // The SDK answers a listen itself and ignores cancelled fast-path calls, so no handler would receive
    // either.
    if (message.method === 'subscriptions/listen') notifications.subscribe(resourcesIn(message.params))
    if (message.method === 'notifications/cancelled') onCancelled(message.params?.['requestId'])
  }
  /** Handles a cancelled request. Its answer may have been sent just before; the client ignores it. */
  const onCancelled = (request_id: unknown): void => {
    fast_path.cancelled(request_id)
    calls.unwritten(request_id as RequestId)
  }
  /** Repeated reasons are logged at debug level, so that a client cannot flood the log. */
  const logged_reasons = new Set<string>()
  transport.oninvalid = (why) => {
    log[logged_reasons.has(why) ? 'debug' : 'warn']({}, why)
    logged_reasons.add(why)
  }
  transport.onended = () => {
    fast_path.close()
    notifications.close()
    options.onClose?.()
  }
}

interface WithMeta {
  _meta?: Record<string, unknown> | undefined
}
interface RequestContext {
  mcpReq: WithMeta
}

/**
 * Combines both parts of `_meta`, because the SDK moves some keys out of the params, depending on the
 * revision.
 */
function metaOf(params: WithMeta | undefined, mcpReq: WithMeta): Record<string, unknown> {
  return { ...params?._meta, ...mcpReq._meta }
}

function forwardResources(
  server: Server,
  era: 'legacy' | 'modern',
  upstream: Upstream,
  asProtocolError: (error: unknown) => ProtocolError,
): void {
  const forward = async <T>(
    method: string,
    params: WithMeta | undefined,
    { mcpReq }: RequestContext,
  ): Promise<T> => {
    try {
      const forwarded: Params = { ...params, _meta: ownMeta(metaOf(params, mcpReq)) }
      const result = await upstream.request(method, forwarded, { repeatable: true })
      return (era === 'modern' ? result : toLegacyResult(result)) as T
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

/** Removes the fields that results have since revision 2026-07-28. */
function toLegacyResult({ resultType: _, ttlMs: __, cacheScope: ___, ...result }: Result): Result {
  return result
}

function resourcesIn(params: unknown): string[] {
  const { notifications } = (params ?? {}) as { notifications?: { resourceSubscriptions?: unknown } }
  const uris = notifications?.resourceSubscriptions
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : []
}
