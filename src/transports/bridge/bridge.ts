/**
 * MCP for one client, carried to the hub: what `turnbell mcp` serves over stdio, and what the Claude
 * Code worker is built on. It keeps no MCP session of its own, so the client notices neither a restart
 * of the hub nor, where a keeper brings it back, one of the bridge.
 */
import {
  ProtocolError,
  type CallToolResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ListToolsResult,
  type ReadResourceResult,
  Server,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createChanges } from './changes.ts'
import { createDrains, drainIn, type Drains, type OpenDrain } from './drains.ts'
import type { StdioLines } from './stdio-lines.ts'
import { AnswerLost, RpcFailure, type Params, type Upstream } from './upstream.ts'
import { toProblem } from '../../contracts/errors.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Log } from '../../ports/log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'

export interface ToolCall {
  name: string
  args: Record<string, unknown>
  /** What the client says about the call itself. */
  meta: Record<string, unknown>
  /** Aborted when the client gave the call up: nobody reads the answer. */
  signal: AbortSignal
}

export interface BridgeOptions {
  upstream: Upstream
  transport: StdioLines
  /** The session under which the hub leases what is drained. */
  session_id: () => SessionId
  instructions: string
  version: string
  ids: Ids
  clock: Pick<Clock, 'after'>
  log: Log
  /** Answers a call without the hub; null passes it on. */
  answer?: (call: ToolCall) => Promise<CallToolResult | null>
  /**
   * The drain's answer is in the client's pipe. Confirms it when absent: a plain client gives no better
   * sign that it has the bytes.
   */
  drainWritten?: (call: ToolCall, drain: OpenDrain) => void
  /** An answer given by `answer` is in the client's pipe. */
  answerWritten?: (call: ToolCall) => void
  /** The client asked for the tools: it is ready to use them. */
  onToolsListed?: () => void
  onClose?: () => void
}

export interface Bridge {
  drains: Drains
}

const DRAIN_TOOL = 'signals_pending'

export function createBridge(options: BridgeOptions): Bridge {
  const { upstream, transport, log } = options
  const drains = createDrains(upstream, log)
  const servers = new Set<Server>()
  /** What must happen once the answer to a request has left. */
  const afterwards = new Map<string | number, () => void>()
  /** Resources a client of the 2025 era subscribed to; a newer one is filtered by the SDK. */
  const subscribed = new Set<string>()
  let era: 'past' | 'present' = 'present'
  const tell = (what: (server: Server) => Promise<void>) => {
    for (const server of servers) {
      what(server).catch((error: unknown) => log.debug({ err: error }, 'the client was not told of a change'))
    }
  }
  const changes = createChanges({
    upstream,
    clock: options.clock,
    log,
    onTools: () => tell((server) => server.sendToolListChanged()),
    onResource(uri) {
      if (era === 'past' && !subscribed.has(uri)) return
      tell((server) => server.sendResourceUpdated({ uri }))
    },
  })
  let tools: ListToolsResult | null = null

  transport.onwritten = (request_id) => {
    const then = afterwards.get(request_id)
    afterwards.delete(request_id)
    then?.()
  }

  transport.onreceived = (message) => {
    // The SDK answers this one itself, so there is no handler that would hear of it.
    if ('method' in message && message.method === 'subscriptions/listen')
      changes.want(resourcesIn(message.params))
  }

  async function listTools(): Promise<ListToolsResult> {
    try {
      tools = (await upstream.request('tools/list', {}, { repeatable: true })) as ListToolsResult
    } catch (error) {
      // The list of a moment ago is better than a client that believes there are no tools.
      if (tools === null) {
        tellOnceListed()
        throw asProtocolError(error)
      }
      log.warn({ err: error }, 'the hub did not list its tools; the former list stands')
    }
    return tools
  }

  /** A client that was shown no tools asks again when it is told that they changed. */
  function tellOnceListed(): void {
    upstream.request('tools/list', {}, { repeatable: true, wait_ms: LIMITS.bridge_confirm_wait_ms }).then(
      () => tell((server) => server.sendToolListChanged()),
      (error: unknown) => log.warn({ err: error }, 'the hub never listed its tools'),
    )
  }

  async function callTool(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const own = await options.answer?.(call)
    if (own !== null && own !== undefined) {
      afterwards.set(request_id, () => options.answerWritten?.(call))
      return own
    }
    const drains_now = call.name === DRAIN_TOOL && call.args['peek'] !== true
    // What this session already has must not come back with the next drain.
    if (drains_now) await drains.settled()
    const { args, repeatable } = sayable(call, options.ids)
    const params: Params = { name: call.name, arguments: args, _meta: ownMeta(call.meta) }
    const ask = () => upstream.request('tools/call', params, { repeatable, abort: call.signal })
    const result = await ask().catch(async (error: unknown) => {
      if (!(drains_now && error instanceof AnswerLost)) throw error
      // The hub may believe that we have what it drained, and the next drain would make that final.
      await drains.releaseLeft(options.session_id())
      return ask()
    })
    const drain = drainIn(result)
    if (drain !== null) watch(request_id, call, drain)
    return result as CallToolResult
  }

  /** A drain ends in one of two ways: its answer is written, or the client gave the call up. */
  function watch(request_id: string | number, call: ToolCall, drain: OpenDrain): void {
    const givenUp = () => {
      afterwards.delete(request_id)
      log.warn({ drain_id: drain.drain_id }, 'the client gave the drain up; its signals go back')
      drains.release(drain.signal_ids)
    }
    if (call.signal.aborted) return givenUp()
    call.signal.addEventListener('abort', givenUp, { once: true })
    afterwards.set(request_id, () => {
      call.signal.removeEventListener('abort', givenUp)
      if (options.drainWritten === undefined) drains.confirm(drain.drain_id)
      else options.drainWritten(call, drain)
    })
  }

  function serve(context: { era: 'legacy' | 'modern' }): Server {
    era = context.era === 'legacy' ? 'past' : 'present'
    const server = new Server(
      { name: 'turnbell', version: options.version },
      {
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
        instructions: options.instructions,
      },
    )
    server.setRequestHandler('tools/list', () => listTools().finally(() => options.onToolsListed?.()))
    server.setRequestHandler('tools/call', async (request, context) => {
      const { id, signal, _meta } = context.mcpReq
      const { name, arguments: args } = request.params
      try {
        return await callTool(id, {
          name,
          args: args ?? {},
          meta: { ...request.params._meta, ..._meta },
          signal,
        })
      } catch (error) {
        if (error instanceof RpcFailure) throw asProtocolError(error)
        return problemResult(error, options.ids.next())
      }
    })
    const forward = (method: string) => async (request: { params?: unknown }) => {
      const params = { ...((request.params ?? {}) as Params), _meta: {} }
      try {
        return await upstream.request(method, params, { repeatable: true })
      } catch (error) {
        throw asProtocolError(error)
      }
    }
    const [list, templates, read] = ['resources/list', 'resources/templates/list', 'resources/read'].map(
      forward,
    )
    server.setRequestHandler('resources/list', async (r) => (await list?.(r)) as ListResourcesResult)
    server.setRequestHandler(
      'resources/templates/list',
      async (r) => (await templates?.(r)) as ListResourceTemplatesResult,
    )
    server.setRequestHandler('resources/read', async (r) => (await read?.(r)) as ReadResourceResult)
    // The 2025 era only.
    server.setRequestHandler('resources/subscribe', ({ params }) => {
      subscribed.add(params.uri)
      changes.want([params.uri])
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', ({ params }) => {
      subscribed.delete(params.uri)
      return {}
    })
    servers.add(server)
    server.onclose = () => servers.delete(server)
    return server
  }

  const onerror = (error: Error) => log.warn({ err: error }, 'mcp')
  transport.onended = () => {
    changes.close()
    options.onClose?.()
  }
  serveStdio(serve, { transport, onerror })

  return { drains }
}

function resourcesIn(params: unknown): string[] {
  const { notifications } = (params ?? {}) as { notifications?: { resourceSubscriptions?: unknown } }
  const uris = notifications?.resourceSubscriptions
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : []
}

/** A refusal as MCP shows it: an error result with the problem as structured content. */
export function problemResult(error: unknown, instance: string): CallToolResult {
  const problem = toProblem(error, instance)
  return {
    isError: true,
    content: [{ type: 'text', text: `${problem.title}: ${problem.detail} ${problem.hint}` }],
    structuredContent: problem,
  }
}

function asProtocolError(error: unknown): Error {
  if (error instanceof RpcFailure) return new ProtocolError(error.code, error.message, error.data)
  return error instanceof Error ? error : new Error(String(error))
}

/** Only turnbell's own keys travel on: the client's are about its connection to this process. */
function ownMeta(meta: Record<string, unknown>): Record<string, unknown> {
  const own = ['agent_id', 'run_id', 'parent_call_id', 'scope']
  return Object.fromEntries(own.flatMap((key) => (meta[key] === undefined ? [] : [[key, meta[key]]])))
}

/**
 * What may be said twice to a hub that died in between: a send once it has a key of its own; what else
 * `signals` does changes nothing the second time. A drain may not: see where it is asked for.
 */
function sayable(call: ToolCall, ids: Ids): { args: Record<string, unknown>; repeatable: boolean } {
  if (call.name === DRAIN_TOOL) return { args: call.args, repeatable: call.args['peek'] === true }
  if (call.name !== 'signals') return { args: call.args, repeatable: false }
  const { action, params, ...rest } = call.args
  if (action !== 'send' && action !== 'broadcast') return { args: call.args, repeatable: true }
  // Models forget the nesting, or write it as text; the hub understands both, so both get a key.
  const given = params === undefined ? rest : typeof params === 'string' ? parsed(params) : params
  if (typeof given !== 'object' || given === null) return { args: call.args, repeatable: false }
  return { args: { action, params: { idempotency_key: `bridge:${ids.next()}`, ...given } }, repeatable: true }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
