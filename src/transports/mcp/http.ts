/**
 * MCP on `/mcp`: one door for both protocol eras. Who calls is told by the bearer token of each request.
 *
 * The body is read and judged once; then its era answers, with the same tools from the same kernel.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  classifyInboundRequest,
  isJsonContentType,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server'
import { EVENT_STREAM_HEADERS, takesEvents } from './event-stream.ts'
import { createCancellations } from './cancellations.ts'
import { createExchanges } from './exchanges.ts'
import { NO_EXTENSION, type McpExtend } from './extension.ts'
import { refusalOf } from './protocol-error.ts'
import { peerOf, type McpPeer } from './peer.ts'
import { createModernMcp } from './modern.ts'
import { createEnvelopes } from './envelopes.ts'
import { withExactIds } from './exact-ids.ts'
import {
  BATCHING_REVISION,
  plainCallOf,
  readMessages,
  RPC_CODES,
  isInitialize,
  whyNoBatch,
  type Answer,
  type ReadMessage,
  type RefusedMessage,
} from './messages.ts'
import { plainCallIn, REVISION, type PlainCall } from './plain-call.ts'
import { createPlainCalls } from './plain-calls.ts'
import { maySee, pendingUri } from './resources.ts'
import { createMcpServer } from './server.ts'
import { createMcpSessions, resourceUpdated, type McpSession } from './sessions.ts'
import { viewOf } from './view.ts'
import { answeredBy } from '../http/answered.ts'
import { contextInHeaders } from '../http/context.ts'
import { admit } from '../http/guard.ts'
import { problemOf, sendProblem } from '../http/problems.ts'
import { readBody } from '../http/body.ts'
import type { RawRoute } from '../http/server.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { toolProblem, type McpProjection } from '../../kernel/project-mcp.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Doors } from '../doors.ts'

export interface McpHttpOptions {
  kernel: Kernel
  projection: McpProjection
  doors: Doors
  version: string
  /** What is offered beside the kernel's own. */
  extend?: McpExtend | undefined
}

/** JSON-RPC error codes: the specification's, and -32000 as MCP's SDKs use it for the transport. */
const RPC = { ...RPC_CODES, transport: -32000, session_unknown: -32001 }

/** A request that no server of ours gets to see, in the words in which the SDK tells of its own. */
interface Refused {
  httpStatus: number
  code: number
  message: string
  data?: unknown
  error?: TurnbellError
}

const SUPPORTED: readonly string[] = SUPPORTED_PROTOCOL_VERSIONS

const UNKNOWN_SESSION: Refused = {
  httpStatus: 404,
  code: RPC.session_unknown,
  message: 'Session not found',
  error: new TurnbellError('target_stale', {
    detail: 'There is no such MCP session of this caller.',
    hint: 'Begin a new one: send initialize without Mcp-Session-Id.',
  }),
}

export async function createMcpHttp(options: McpHttpOptions): Promise<RawRoute> {
  const { doors } = options
  const toolsChanged = () => {
    modern.notify.toolsChanged()
    sessions.notify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, () => true)
  }
  const extension = options.extend?.({ toolsChanged }) ?? NO_EXTENSION
  const makeServer = () => createMcpServer({ ...options, extension, ids: doors.ids, peerOf })
  const sessions = createMcpSessions(doors)
  const cancellations = createCancellations()
  const exchanges = await createExchanges(makeServer(), cancellations, doors)
  const modern = createModernMcp(makeServer, doors)
  const plain = createPlainCalls({ ...options, extension, cancellations })
  const envelopes = createEnvelopes()
  const stopWatching = doors.events.watch(({ type, agent_id }) => {
    if (type !== 'signal.pushed' || agent_id === null) return
    const uri = pendingUri(agent_id)
    modern.notify.resourceUpdated(uri)
    sessions.notify(resourceUpdated(uri), ({ subscriptions }) => subscriptions.has(uri))
  })

  const stopFollowing = options.kernel.changed(toolsChanged)
  /** What answers has ended, or waits for its end: a request whose body comes later would be nobody's. */
  let stopped = false

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const caller = admit(request, doors, { token_in_query: true })
    if (request.method === 'POST') return post(request, response, caller)
    const session = sessionOf(request, caller)
    if (request.method === 'GET') openStream(request, response, session)
    else if (request.method === 'DELETE') {
      if (session === null || session === undefined || !sessions.end(session.id, caller))
        refuse(response, UNKNOWN_SESSION)
      else response.writeHead(200).end()
    } else {
      response.setHeader('allow', 'GET, POST, DELETE')
      refuse(response, { httpStatus: 405, code: RPC.transport, message: 'Method not allowed.' })
    }
  }

  const post = async (request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> => {
    if (!isJsonContentType(request.headers['content-type'] ?? null)) {
      const message = 'Content-Type must be application/json.'
      refuse(response, { httpStatus: 415, code: RPC.transport, message })
      return
    }
    const text = await readBody(request, LIMITS.body_bytes_max)
    if (stopped) throw new TurnbellError('hub_stopping', { detail: 'The hub takes no new requests.' })
    const value = parsedBody(text)
    if (value === undefined) {
      refuse(response, { httpStatus: 400, code: RPC.parse_error, message: 'The body is not valid JSON.' })
      return
    }
    const view = viewOf(request)
    const context = contextInHeaders(request.headers)
    const peer: McpPeer = { caller, view, context, answered: answeredBy(response) }
    const known = plainCallOf(text, value)
    const read = known === null ? readMessages(text, value) : null
    if (read?.is_batch === true) return serveBatch(request, response, peer, read.messages)
    const [only] = read?.messages ?? []
    if (only?.kind === 'refused') return refuseMessage(request, response, only.refused)
    if (only?.kind === 'dropped') {
      const message = `The body is not a JSON-RPC message: ${only.why}.`
      return refuse(response, { httpStatus: 400, code: RPC.invalid_request, message })
    }
    const body = only === undefined ? value : only.message
    const call = plain.find(request, known ?? plainCallIn(body))
    if (call?.modern === false) return answerPast(request, response, peer, call)
    const judged = () => classifyInboundRequest({ httpMethod: 'POST', ...protocolHeaders(request), body })
    if (call !== null && envelopes.accepts(call.meta, () => judged().kind === 'modern'))
      return plain.answer(call, peer, response, undefined)
    const route = judged()
    if (route.kind === 'legacy') servePast(request, response, peer, [body as JSONRPCMessage], null)
    else if (route.kind === 'reject') refuse(response, route, idOf(body))
    else await modern.serve(request, response, route, onlyOwn(caller, body), peer)
  }

  const answerPast = async (
    request: IncomingMessage,
    response: ServerResponse,
    peer: McpPeer,
    call: PlainCall,
  ): Promise<void> => {
    const session = sessionOf(request, peer.caller)
    if (session === null) refuse(response, UNKNOWN_SESSION)
    else await plain.answer(call, peer, response, session?.id)
  }

  const serveBatch = (
    request: IncomingMessage,
    response: ServerResponse,
    peer: McpPeer,
    read: readonly ReadMessage[],
  ): void => {
    const version = request.headers['mcp-protocol-version']
    // Without the header the specification assumes the revision that has batches.
    const spoken = typeof version === 'string' ? version : BATCHING_REVISION
    const why = whyNoBatch(
      read,
      SUPPORTED.includes(spoken) || spoken === REVISION ? spoken : BATCHING_REVISION,
    )
    // The specification wants one error without an id for a body that is not accepted.
    if (why !== null) return refuse(response, { httpStatus: 400, code: RPC.invalid_request, message: why })
    const messages = read.flatMap((one) => (one.kind === 'message' ? [one.message] : []))
    const refused = read.flatMap((one) =>
      one.kind === 'refused' ? [refusalMessage(request, one.refused)] : [],
    )
    servePast(request, response, peer, messages, refused)
  }

  /** `refused`: answers that a batch has already; null for a single message. */
  const servePast = (
    request: IncomingMessage,
    response: ServerResponse,
    peer: McpPeer,
    messages: readonly JSONRPCMessage[],
    refused: readonly Answer[] | null,
  ): void => {
    const version = request.headers['mcp-protocol-version']
    if (typeof version === 'string' && !SUPPORTED.includes(version)) {
      const supported = SUPPORTED.join(', ')
      const message = `Unsupported protocol version: ${version} (supported versions: ${supported})`
      refuse(response, { httpStatus: 400, code: RPC.transport, message })
      return
    }
    const begins = messages.some(isInitialize)
    const session = begins ? sessions.begin(peer.caller) : sessionOf(request, peer.caller)
    if (session === null) {
      refuse(response, UNKNOWN_SESSION)
      return
    }
    const from: McpPeer = session === undefined ? peer : { ...peer, subscriptions: session.subscriptions }
    exchanges.serve(messages, from, response, {
      batch: refused !== null,
      refused: refused ?? [],
      streams: takesEvents(request.headers.accept),
      session_id: session?.id,
      headers: session === undefined ? {} : { 'mcp-session-id': session.id },
    })
  }

  /** Undefined when the request names none: a single call needs no session. */
  const sessionOf = (request: IncomingMessage, caller: Caller): McpSession | null | undefined => {
    const id = request.headers['mcp-session-id']
    return typeof id === 'string' ? sessions.find(id, caller) : undefined
  }

  const openStream = (
    request: IncomingMessage,
    response: ServerResponse,
    session: McpSession | null | undefined,
  ): void => {
    if (session === null) refuse(response, UNKNOWN_SESSION)
    else if (session === undefined || !takesEvents(request.headers.accept)) {
      response.setHeader('allow', 'POST')
      const message = 'A stream needs a session and Accept: text/event-stream.'
      refuse(response, { httpStatus: 405, code: RPC.transport, message })
    } else {
      response.writeHead(200, { ...EVENT_STREAM_HEADERS, 'mcp-session-id': session.id })
      response.flushHeaders()
      sessions.open(session, response)
    }
  }

  const refusalMessage = (request: IncomingMessage, refused: RefusedMessage): Answer => {
    const { id, code, error, is_tool_call } = refused
    const problem = problemOf(error, doors, '/mcp')
    if (!is_tool_call) return { jsonrpc: '2.0', id, error: { code, message: error.detail, data: problem } }
    const is_modern = request.headers['mcp-protocol-version'] === REVISION
    return { jsonrpc: '2.0', id, result: plain.inEra(toolProblem(problem), is_modern) }
  }

  const refuseMessage = (request: IncomingMessage, response: ServerResponse, refused: RefusedMessage): void =>
    sendJson(response, refused.is_tool_call ? 200 : 400, refusalMessage(request, refused))

  const refuse = (response: ServerResponse, refused: Refused, id: RequestId | null = null): void => {
    const { httpStatus, code, message, error = refusalOf(refused) } = refused
    const problem = { ...problemOf(error, doors, '/mcp'), status: httpStatus }
    // What the SDK says beside it is for the client's SDK: the versions it could speak.
    const data = refused.data ?? problem
    sendJson(response, httpStatus, { jsonrpc: '2.0', error: { code, message, data }, id })
  }

  return {
    path: '/mcp',
    async handle(request, response) {
      try {
        await handle(request, response)
      } catch (error) {
        sendProblem(response, problemOf(error, doors, request.url ?? ''))
      }
    },
    async stop() {
      stopped = true
      stopWatching()
      stopFollowing()
      sessions.close()
      await Promise.all([plain.close(), modern.close(), exchanges.close()])
    },
  }
}

/** A subscription to another persona's queue is left out of the request, as the specification allows. */
function onlyOwn(caller: Caller, body: unknown): unknown {
  const { method, params } = body as {
    method?: unknown
    params?: { notifications?: { resourceSubscriptions?: unknown } }
  }
  const asked = params?.notifications?.resourceSubscriptions
  if (method !== 'subscriptions/listen' || !Array.isArray(asked)) return body
  const own = asked.filter((uri) => typeof uri === 'string' && maySee(caller, uri))
  return {
    ...(body as object),
    params: { ...params, notifications: { ...params?.notifications, resourceSubscriptions: own } },
  }
}

function protocolHeaders({ headers }: IncomingMessage): {
  protocolVersionHeader?: string
  mcpMethodHeader?: string
  mcpNameHeader?: string
} {
  const one = (name: string) => (typeof headers[name] === 'string' ? headers[name] : undefined)
  const [version, method, name] = [one('mcp-protocol-version'), one('mcp-method'), one('mcp-name')]
  return {
    ...(version === undefined ? {} : { protocolVersionHeader: version }),
    ...(method === undefined ? {} : { mcpMethodHeader: method }),
    ...(name === undefined ? {} : { mcpNameHeader: name }),
  }
}

function parsedBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  const body = withExactIds(JSON.stringify(value))
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

/** The request that a refusal answers, where it can be told. */
function idOf(body: unknown): RequestId | null {
  const { method, id } = (body ?? {}) as { method?: unknown; id?: unknown }
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null
}
