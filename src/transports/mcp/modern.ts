/**
 * Requests of protocol revision 2026-07-28. The SDK's entry owns the era: what it refuses, how it
 * discovers, the streams of `subscriptions/listen`. It wants a server per request, though, and answers
 * through web streams, which costs more than the call itself. So a tool call that is beyond doubt goes
 * straight to a server that the entry has bound to the era once.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  isJSONRPCErrorResponse,
  PROTOCOL_VERSION_META_KEY,
  type InboundClassificationOutcome,
  type MessageClassification,
  type Server,
  type ServerNotifier,
} from '@modelcontextprotocol/server'
import { createExchanges, withProblem, type Exchanges } from './exchanges.ts'
import type { McpExtension } from './extension.ts'
import { authInfoOf, type McpPeer } from './peer.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Doors } from '../doors.ts'

const REVISION = '2026-07-28'
const SERVERS_IDLE_MAX = 64

export type NotPast = Extract<InboundClassificationOutcome, { kind: 'modern' }>

export interface ModernMcp {
  /** `body` is the parsed body that `route` was classified from. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    route: NotPast,
    body: unknown,
    peer: McpPeer,
  ): Promise<void>
  notify: ServerNotifier
  /** Resolves once what runs is answered and every stream has ended. */
  close(): Promise<void>
}

export async function createModernMcp(
  makeServer: () => Server,
  extension: Pick<McpExtension, 'tools'>,
  doors: Pick<Doors, 'ids' | 'log'>,
): Promise<ModernMcp> {
  const { log } = doors
  const entry = createMcpHandler(pooled(makeServer), {
    legacy: 'reject',
    keepAliveMs: LIMITS.sse_heartbeat_ms,
    maxSubscriptions: LIMITS.mcp_streams_max,
    onerror: (error) => log.debug({ err: error }, 'an MCP request was refused'),
  })
  const fetch: typeof entry.fetch = async (request, options) =>
    refusalWithProblem(await entry.fetch(request, options), doors)
  const throughEntry = toNodeHandler(
    { fetch },
    {
      onerror: (error) => log.error({ err: error }, 'an MCP request broke'),
    },
  )
  const classification: MessageClassification = { era: 'modern', revision: REVISION }
  const direct: Exchanges = await createExchanges(await bound(makeServer()), doors, classification)

  /** What the entry works on, streams left out: those end only when they are ended. */
  const running = new Set<Promise<void>>()

  return {
    notify: entry.notify,
    async serve(request, response, route, body, peer) {
      if (isPlainCall(request, route, extension)) {
        const plain = { headers: {}, batch: false, streams: false, session_id: undefined }
        direct.serve([route.message], peer, response, plain)
        return
      }
      const authenticated = Object.assign(request, { auth: authInfoOf(peer) }) as NodeIncomingMessageLike
      const served = throughEntry(authenticated, response, body)
      if (isListen(route)) return served
      running.add(served)
      await served.finally(() => running.delete(served))
    },
    async close() {
      await Promise.allSettled([...running])
      await Promise.all([entry.close(), direct.close()])
    },
  }
}

async function refusalWithProblem(response: Response, doors: Pick<Doors, 'ids' | 'log'>): Promise<Response> {
  // A stream of events is passed on as it comes.
  if (response.headers.get('content-type') !== 'application/json') return response
  const message: unknown = await response.json()
  const { status, headers } = response
  headers.delete('content-length')
  const whole = isJSONRPCErrorResponse(message) ? withProblem(message, doors) : message
  return new Response(JSON.stringify(whole), { status, headers })
}

function isListen(route: NotPast): boolean {
  return route.message.method === 'subscriptions/listen'
}

/** A call whose headers say what its body says, of a tool that only answers. All else is the entry's to judge. */
function isPlainCall(
  { headers }: IncomingMessage,
  route: NotPast,
  { tools }: Pick<McpExtension, 'tools'>,
): route is Extract<NotPast, { messageKind: 'request' }> {
  if (route.messageKind !== 'request') return false
  const { method, params } = route.message
  return (
    method === 'tools/call' &&
    route.classification.revision === REVISION &&
    headers['mcp-protocol-version'] === REVISION &&
    headers['mcp-method'] === method &&
    typeof params?.['name'] === 'string' &&
    headers['mcp-name'] === params['name'] &&
    tools.get(params['name'])?.talks !== true
  )
}

/**
 * The entry asks for a server per request and closes it afterwards. A closed one is whole again, so it
 * is handed out to the next request instead of being made anew.
 */
function pooled(makeServer: () => Server): () => Server {
  const idle: Server[] = []
  return () => {
    const server = idle.pop() ?? makeServer()
    server.onclose = () => {
      if (idle.length < SERVERS_IDLE_MAX) idle.push(server)
    }
    return server
  }
}

/** A server that has served one request of the era stays in it: the only public way to bind one. */
async function bound(server: Server): Promise<Server> {
  const closed = new Promise<void>((resolve) => (server.onclose = resolve))
  const entry = createMcpHandler(() => server, { legacy: 'reject' })
  const method = 'server/discover'
  const discovered = await entry.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': REVISION,
        'mcp-method': method,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: {
          _meta: {
            [PROTOCOL_VERSION_META_KEY]: REVISION,
            [CLIENT_INFO_META_KEY]: { name: 'turnbell', version: '0' },
            [CLIENT_CAPABILITIES_META_KEY]: {},
          },
        },
      }),
    }),
  )
  if (!discovered.ok) throw new Error(`the MCP SDK does not serve ${REVISION}: ${await discovered.text()}`)
  await closed
  server.onclose = () => undefined
  return server
}
