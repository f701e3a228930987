/**
 * MCP's Streamable HTTP over one shared SDK server
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports).
 *
 * The SDK's own transports need a server per session or per request, and answer through web streams. The server here has
 * no state of clients, so one serves all of them: each request gets an inner id, which also separates two clients that
 * both count from 1. Answers are plain JSON, as the specification allows if nothing is sent before the result.
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
import type { SentAnswer } from '../../ports/sent-answer.ts'
import type { HubApi } from '../hub-api.ts'
import { whenClosed } from '../http/answered.ts'
import { problemOf } from '../http/problems.ts'

interface OpenRequest {
  /** The id that the client chose. */
  id: RequestId
  /** Marks the answer as not delivered. */
  drop: () => void
  peer: McpPeer
}

/** One POST and its response. */
interface Exchange {
  reply: Reply
  session_id: string | undefined
  /** Unanswered requests by inner id. */
  open: Map<number, OpenRequest>
}

export interface ServeOptions extends ReplyOptions {
  session_id: string | undefined
  /** Answers to requests that were rejected before they reached the server. */
  refused: readonly Answer[]
}

export interface Exchanges {
  /** Passes the messages of one POST to the server; the response ends when all requests are answered. */
  serve(
    messages: readonly JSONRPCMessage[],
    peer: McpPeer,
    response: ServerResponse,
    options: ServeOptions,
  ): void
  /** Resolves once all requests are answered and the server is closed. */
  close(): Promise<void>
}

type ProblemApi = Pick<HubApi, 'ids' | 'log'>

/** Adds a problem to an error of the SDK. Data of the SDK is for the client's SDK and stays. */
export function withProblem(message: JSONRPCErrorResponse, api: ProblemApi): JSONRPCErrorResponse {
  if (message.error.data !== undefined) return message
  const error = blamed(message.error)
  return { ...message, error: { ...error, data: problemOf(refusalOf(error), api, '/mcp') } }
}

export async function createExchanges(
  server: Server,
  cancellations: Cancellations,
  api: ProblemApi,
): Promise<Exchanges> {
  const open = createOpenExchanges()
  const transport = createTransport(open, api)
  await server.connect(transport)

  const cancelRequestNamedIn = (message: JSONRPCMessage, session_id: string | undefined) => {
    const request_id = (message as { params?: { requestId?: RequestId } }).params?.requestId
    if (session_id !== undefined && request_id !== undefined) cancellations.cancel(session_id, request_id)
  }

  return {
    serve(messages, peer, response, options) {
      const { session_id } = options
      const exchange: Exchange = { reply: createReply(response, options), session_id, open: new Map() }
      const withdraw: (() => void)[] = []
      const inside = messages.map((message): JSONRPCMessage => {
        if (!isJSONRPCRequest(message)) return message
        const inner_id = open.add(exchange, openRequest(message.id, peer))
        if (session_id !== undefined)
          withdraw.push(cancellations.offer(session_id, message.id, () => cancel(inner_id, open, transport)))
        return { ...message, id: inner_id }
      })
      const inner_ids = [...exchange.open.keys()]
      whenClosed(response, () => {
        open.forgetExchange(exchange, inner_ids)
        for (const remove of withdraw) remove()
      })
      const peers = new Map([...exchange.open].map(([inner_id, request]) => [inner_id, request.peer]))
      const extraFor = (message: JSONRPCMessage) => ({
        authInfo: authInfoOf((isJSONRPCRequest(message) && peers.get(Number(message.id))) || peer),
      })
      for (const message of inside) {
        if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
          cancelRequestNamedIn(message, session_id)
        else if ('method' in message || open.acceptAnswer(message, session_id))
          transport.onmessage?.(message, extraFor(message))
      }
      for (const refused of options.refused) exchange.reply.answer(refused)
      if (inner_ids.length > 0) return
      if (options.refused.length > 0) exchange.reply.end()
      else response.writeHead(202, options.headers).end()
    },
    async close() {
      await open.settled()
      await server.close()
    },
  }
}

type OpenExchanges = ReturnType<typeof createOpenExchanges>

/** Unanswered requests of clients, and unanswered questions of the server to clients. */
function createOpenExchanges() {
  const by_inner_id = new Map<number, Exchange>()
  /** By the server's own ids. */
  const questions = new Map<RequestId, Exchange>()
  let last_id = 0
  let onIdle: (() => void) | null = null
  const forget = (inner_id: number) => {
    by_inner_id.delete(inner_id)
    if (by_inner_id.size === 0) onIdle?.()
  }

  return {
    /** Returns the inner id of the request, which is unique among all clients. */
    add(exchange: Exchange, request: OpenRequest): number {
      const inner_id = ++last_id
      exchange.open.set(inner_id, request)
      by_inner_id.set(inner_id, exchange)
      return inner_id
    },
    exchangeOf: (inner_id: number): Exchange | undefined => by_inner_id.get(inner_id),
    find(inner_id: number): { exchange: Exchange; request: OpenRequest } | null {
      const exchange = by_inner_id.get(inner_id)
      const request = exchange?.open.get(inner_id)
      return exchange === undefined || request === undefined ? null : { exchange, request }
    },
    /** Ends the response after the last request of its exchange. */
    finish(exchange: Exchange, inner_id: number): void {
      exchange.open.delete(inner_id)
      if (exchange.open.size === 0) exchange.reply.end()
      forget(inner_id)
    },
    forgetExchange({ reply }: Exchange, inner_ids: readonly number[]): void {
      for (const [id, exchange] of questions) if (exchange.reply === reply) questions.delete(id)
      for (const inner_id of inner_ids) forget(inner_id)
    },
    addQuestion: (id: RequestId, exchange: Exchange) => void questions.set(id, exchange),
    /** Returns whether the message answers a question to the client's own session. */
    acceptAnswer({ id }: { id?: RequestId | undefined }, session_id: string | undefined): boolean {
      if (id === undefined || session_id === undefined) return false
      return questions.get(id)?.session_id === session_id && questions.delete(id)
    },
    async settled(): Promise<void> {
      if (by_inner_id.size > 0) await new Promise<void>((resolve) => (onIdle = resolve))
    },
  }
}

function createTransport(open: OpenExchanges, api: ProblemApi): Transport {
  const answer = (message: JSONRPCMessage & { id?: RequestId | undefined }) => {
    const inner_id = Number(message.id)
    const found = open.find(inner_id)
    if (found === null) return
    found.exchange.reply.answer({ ...message, id: found.request.id })
    open.finish(found.exchange, inner_id)
  }
  const ask = async (message: JSONRPCRequest, related: RequestId | undefined): Promise<void> => {
    const exchange = open.exchangeOf(Number(related))
    if (exchange?.session_id === undefined || !exchange.reply.notify(message))
      throw new Error('this client cannot be asked: that needs a session and an open stream')
    open.addQuestion(message.id, exchange)
  }
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => {
      transport.onclose?.()
      return Promise.resolve()
    },
    send(message, options) {
      if (isJSONRPCResultResponse(message)) answer(message)
      else if (isJSONRPCErrorResponse(message)) answer(withProblem(message, api))
      else if (isJSONRPCRequest(message)) return ask(message, options?.relatedRequestId)
      // A notification without a related request has no stream here.
      else open.exchangeOf(Number(options?.relatedRequestId))?.reply.notify(message)
      return Promise.resolve()
    },
  }
  return transport
}

/**
 * By the specification, a cancelled request should get no response, and a POST without an end helps no client. The other
 * requests of its batch are answered; without others the connection is closed. In both cases the result of the
 * cancelled request counts as not delivered.
 */
function cancel(inner_id: number, open: OpenExchanges, transport: Transport): void {
  transport.onmessage?.({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: inner_id },
  })
  const found = open.find(inner_id)
  if (found === null) return
  found.request.drop()
  open.finish(found.exchange, inner_id)
}

/** The answer of a cancelled request counts as broken, even if the response of its batch is written. */
function openRequest(id: RequestId, peer: McpPeer): OpenRequest {
  let drop: () => void = () => undefined
  const dropped = new Promise<'broken'>((resolve) => (drop = () => resolve('broken')))
  const answer: SentAnswer = {
    written: () => Promise.race([dropped, peer.answer.written()]),
    received: () => Promise.race([dropped, peer.answer.received()]),
  }
  return { id, drop, peer: { ...peer, answer } }
}
