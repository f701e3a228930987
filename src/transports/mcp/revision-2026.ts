/**
 * Requests of protocol revision 2026-07-28, except plain tool calls (`fast-path-calls.ts`). The SDK's entry point validates
 * them and implements discovery and the streams of `subscriptions/listen`.
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
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { HubApi } from '../hub-api.ts'
import { whenClosed } from '../http/answered.ts'
import { becomesStream } from '../http/admission.ts'

const SERVERS_IDLE_MAX = 64

export type Revision2026Route = Extract<InboundClassificationOutcome, { kind: 'modern' }>

export interface Revision2026 {
  /** `body` is the parsed body that `route` was classified from. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    route: Revision2026Route,
    body: unknown,
    peer: McpPeer,
  ): Promise<void>
  notify: ServerNotifier
  /** Resolves once running requests are answered and every stream has ended. */
  close(): Promise<void>
}

export function createRevision2026(
  makeServer: () => Server,
  api: Pick<HubApi, 'ids' | 'log' | 'clock' | 'quotas'>,
): Revision2026 {
  const { log } = api
  const entry = createMcpHandler(pooled(makeServer), {
    legacy: 'reject',
    keepAliveMs: LIMITS.sse_heartbeat_ms,
    maxSubscriptions: LIMITS.mcp_streams_max,
    onerror: (error) => log.debug({ err: error }, 'MCP request rejected'),
  })
  const fetch: typeof entry.fetch = async (request, options) => {
    const response = await entry.fetch(request, options)
    const id = (options?.parsedBody as { id?: unknown } | undefined)?.id
    const exact = isExactId(id) ? streamWithExactIds(response) : response
    return refusalWithProblem(exact, api)
  }
  const throughEntry = toNodeHandler(
    { fetch },
    {
      onerror: (error) => log.error({ err: error }, 'MCP request failed'),
    },
  )
  /** Running requests, except streams, which end only when they are closed. */
  const running = new Set<Promise<void>>()

  return {
    notify: entry.notify,
    async serve(request, response, route, body, peer) {
      if (isListen(route)) {
        whenClosed(response, api.quotas.take(peer.caller, 'mcp_stream'))
        becomesStream(response)
      }
      const authenticated = Object.assign(request, { auth: authInfoOf(peer) }) as NodeIncomingMessageLike
      const served = throughEntry(authenticated, response, body)
      if (isListen(route)) {
        cutWhenStalled(response, api)
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

async function refusalWithProblem(response: Response, api: Pick<HubApi, 'ids' | 'log'>): Promise<Response> {
  // A stream of events is passed through.
  if (response.headers.get('content-type') !== 'application/json') return response
  const message: unknown = await response.json()
  const { status, headers } = response
  headers.delete('content-length')
  const whole = isJSONRPCErrorResponse(message) ? withProblem(message, api) : message
  return new Response(withExactIds(JSON.stringify(whole)), { status, headers })
}

/** Replaces ids in the SDK's events by the ids that the client wrote. An event is one line. */
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

function isListen(route: Revision2026Route): boolean {
  return route.message.method === 'subscriptions/listen'
}

/** The entry point uses a server per request and closes it afterwards. A closed server is reused for the next request. */
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
