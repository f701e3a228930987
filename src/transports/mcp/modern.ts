/**
 * Requests of protocol revision 2026-07-28, plain tool calls left out (`plain-calls.ts`). The SDK's entry owns
 * the era: what it refuses, how it discovers, the streams of `subscriptions/listen`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  isJSONRPCErrorResponse,
  type InboundClassificationOutcome,
  type Server,
  type ServerNotifier,
} from '@modelcontextprotocol/server'
import { cutWhenStalled } from './event-stream.ts'
import { isExactId, withExactIds } from './exact-ids.ts'
import { withProblem } from './exchanges.ts'
import { authInfoOf, type McpPeer } from './peer.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Doors } from '../doors.ts'

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

export function createModernMcp(
  makeServer: () => Server,
  doors: Pick<Doors, 'ids' | 'log' | 'clock'>,
): ModernMcp {
  const { log } = doors
  const entry = createMcpHandler(pooled(makeServer), {
    legacy: 'reject',
    keepAliveMs: LIMITS.sse_heartbeat_ms,
    maxSubscriptions: LIMITS.mcp_streams_max,
    onerror: (error) => log.debug({ err: error }, 'an MCP request was refused'),
  })
  const fetch: typeof entry.fetch = async (request, options) => {
    const response = await entry.fetch(request, options)
    const id = (options?.parsedBody as { id?: unknown } | undefined)?.id
    const exact = isExactId(id) ? streamWithExactIds(response) : response
    return refusalWithProblem(exact, doors)
  }
  const throughEntry = toNodeHandler(
    { fetch },
    {
      onerror: (error) => log.error({ err: error }, 'an MCP request broke'),
    },
  )
  /** What the entry works on, streams left out: those end only when they are ended. */
  const running = new Set<Promise<void>>()

  return {
    notify: entry.notify,
    async serve(request, response, route, body, peer) {
      const authenticated = Object.assign(request, { auth: authInfoOf(peer) }) as NodeIncomingMessageLike
      const served = throughEntry(authenticated, response, body)
      if (isListen(route)) {
        cutWhenStalled(response, doors)
        return served
      }
      running.add(served)
      await served.finally(() => running.delete(served))
    },
    async close() {
      await Promise.allSettled([...running])
      await entry.close()
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
  return new Response(withExactIds(JSON.stringify(whole)), { status, headers })
}

/** The SDK's events with the id as the client wrote it. An event is one line. */
function streamWithExactIds(response: Response): Response {
  if (response.body === null || response.headers.get('content-type') === 'application/json') return response
  let begun = ''
  const lines = new TransformStream<string, string>({
    transform(text, controller) {
      const whole = (begun + text).split(/(?<=\n)/)
      begun = whole.at(-1)?.endsWith('\n') === true ? '' : (whole.pop() ?? '')
      for (const line of whole) controller.enqueue(withExactIds(line))
    },
    flush: (controller) => controller.enqueue(withExactIds(begun)),
  })
  const body = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream())
  return new Response(body, { status: response.status, headers: response.headers })
}

function isListen(route: NotPast): boolean {
  return route.message.method === 'subscriptions/listen'
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
