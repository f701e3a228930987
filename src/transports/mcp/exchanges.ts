/**
 * MCP's Streamable HTTP over one shared SDK server
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports).
 *
 * The SDK's own transports want a server per session or per request, and answer through web streams.
 * Our server keeps nothing of a client, so one serves them all: each request gets an id of its own while
 * it is inside, which also keeps two clients apart that both count from 1. Answers are plain JSON, as the
 * specification allows where nothing is said before the result.
 */
import type { ServerResponse } from 'node:http'
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  isJSONRPCErrorResponse,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server'
import type { Cancellations } from './cancellations.ts'
import type { Answer } from './messages.ts'
import { authInfoOf, type McpPeer } from './peer.ts'
import { blamed, refusalOf } from './protocol-error.ts'
import { createReply, type Reply, type ReplyOptions } from './reply.ts'
import type { Doors } from '../doors.ts'
import { whenClosed } from '../http/answered.ts'
import { problemOf } from '../http/problems.ts'

interface OpenRequest {
  /** The client's own. */
  id: RequestId
  /** Its answer will not be part of what is written. */
  drop: () => void
  peer: McpPeer
}

interface Exchange {
  reply: Reply
  session_id: string | undefined
  /** Inner ids that have no answer yet. */
  open: Map<number, OpenRequest>
}

export interface ServeOptions extends ReplyOptions {
  session_id: string | undefined
  /** Answers to requests that no server sees. */
  refused: readonly Answer[]
}

export interface Exchanges {
  /** Hands the messages of one POST to the server; answers the response when all requests are answered. */
  serve(
    messages: readonly JSONRPCMessage[],
    peer: McpPeer,
    response: ServerResponse,
    options: ServeOptions,
  ): void
  /** Resolves once what runs is answered and the server is closed. */
  close(): Promise<void>
}

type ProblemDoors = Pick<Doors, 'ids' | 'log'>

/** What the SDK refuses by itself carries no problem; data of its own is for the client's SDK and stays. */
export function withProblem(message: JSONRPCErrorResponse, doors: ProblemDoors): JSONRPCErrorResponse {
  if (message.error.data !== undefined) return message
  const error = blamed(message.error)
  return { ...message, error: { ...error, data: problemOf(refusalOf(error), doors, '/mcp') } }
}

export async function createExchanges(
  server: Server,
  cancellations: Cancellations,
  doors: ProblemDoors,
): Promise<Exchanges> {
  const byInnerId = new Map<number, Exchange>()
  /** What clients were asked and have not answered yet, by the server's own ids. */
  const asked = new Map<RequestId, Exchange>()
  let last_id = 0
  let idle: (() => void) | null = null
  const forget = (inner_id: number) => {
    byInnerId.delete(inner_id)
    if (byInnerId.size === 0) idle?.()
  }

  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => {
      transport.onclose?.()
      return Promise.resolve()
    },
    send(message, options) {
      if (isJSONRPCResultResponse(message)) answer(message)
      else if (isJSONRPCErrorResponse(message)) answer(withProblem(message, doors))
      else if (isJSONRPCRequest(message)) return ask(message, options?.relatedRequestId)
      // What belongs to no request has no stream to go to here.
      else byInnerId.get(Number(options?.relatedRequestId))?.reply.say(message)
      return Promise.resolve()
    },
  }
  await server.connect(transport)

  const answer = (message: JSONRPCMessage & { id?: RequestId | undefined }) => {
    const inner_id = Number(message.id)
    const exchange = byInnerId.get(inner_id)
    const request = exchange?.open.get(inner_id)
    if (exchange === undefined || request === undefined) return
    exchange.open.delete(inner_id)
    exchange.reply.answer({ ...message, id: request.id })
    if (exchange.open.size === 0) exchange.reply.end()
    forget(inner_id)
  }

  const ask = async (message: JSONRPCRequest, related: RequestId | undefined): Promise<void> => {
    const exchange = byInnerId.get(Number(related))
    if (exchange?.session_id === undefined || !exchange.reply.say(message))
      throw new Error('this client cannot be asked: that needs a session and an open stream')
    asked.set(message.id, exchange)
  }

  return {
    serve(messages, peer, response, options) {
      const { session_id } = options
      const exchange: Exchange = { reply: createReply(response, options), session_id, open: new Map() }
      const settled: (() => void)[] = []
      const inside = messages.map((message): JSONRPCMessage => {
        if (!isJSONRPCRequest(message)) return message
        const inner_id = ++last_id
        exchange.open.set(inner_id, openRequest(message.id, peer))
        byInnerId.set(inner_id, exchange)
        if (session_id !== undefined)
          settled.push(cancellations.offer(session_id, message.id, () => cancel(inner_id)))
        return { ...message, id: inner_id }
      })
      const inner_ids = [...exchange.open.keys()]
      whenClosed(response, () => {
        for (const [question, { reply }] of asked) if (reply === exchange.reply) asked.delete(question)
        for (const inner_id of inner_ids) forget(inner_id)
        for (const settle of settled) settle()
      })
      const peers = new Map([...exchange.open].map(([inner_id, request]) => [inner_id, request.peer]))
      const extraFor = (message: JSONRPCMessage) => ({
        authInfo: authInfoOf((isJSONRPCRequest(message) && peers.get(Number(message.id))) || peer),
      })
      for (const message of inside) {
        if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
          cancelNamed(message, session_id)
        else if ('method' in message || isDue(message, session_id))
          transport.onmessage?.(message, extraFor(message))
      }
      for (const refused of options.refused) exchange.reply.answer(refused)
      if (inner_ids.length > 0) return
      if (options.refused.length > 0) exchange.reply.end()
      else response.writeHead(202, options.headers).end()
    },
    async close() {
      if (byInnerId.size > 0) await new Promise<void>((resolve) => (idle = resolve))
      await server.close()
    },
  }

  /** A client answers only what its own session was asked. */
  function isDue({ id }: { id?: RequestId | undefined }, session_id: string | undefined): boolean {
    if (id === undefined || session_id === undefined) return false
    return asked.get(id)?.session_id === session_id && asked.delete(id)
  }

  function cancelNamed(message: JSONRPCMessage, session_id: string | undefined): void {
    const named = (message as { params?: { requestId?: RequestId } }).params?.requestId
    if (session_id !== undefined && named !== undefined) cancellations.cancel(session_id, named)
  }

  /**
   * The specification wants no answer to a cancelled request, and a POST that never ends helps nobody. The
   * rest of its batch is answered as ever; without a rest the connection is closed. Either way what the
   * cancelled request was about to carry counts as not delivered.
   */
  function cancel(inner_id: number): void {
    const exchange = byInnerId.get(inner_id)
    transport.onmessage?.({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: inner_id },
    })
    const request = exchange?.open.get(inner_id)
    if (exchange === undefined || request === undefined) return
    request.drop()
    exchange.open.delete(inner_id)
    if (exchange.open.size === 0) exchange.reply.end()
    forget(inner_id)
  }
}

/** A cancelled request's answer is broken even where the response that it shares is written. */
function openRequest(id: RequestId, peer: McpPeer): OpenRequest {
  let drop: () => void = () => undefined
  const dropped = new Promise<'broken'>((resolve) => (drop = () => resolve('broken')))
  return { id, drop, peer: { ...peer, answered: Promise.race([dropped, peer.answered]) } }
}
