/**
 * MCP on `/mcp` for both protocol eras. The bearer token of each request identifies the caller.
 *
 * The body is read and classified once; then the handler of its era answers, with the same tools from the same kernel.
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
import { createExchanges, type Exchanges } from './exchanges.ts'
import { NO_EXTENSION, type McpExtend } from './extension.ts'
import { refusalOf } from './protocol-error.ts'
import { peerOf, type McpPeer } from './peer.ts'
import { createRevision2026, type Revision2026 } from './revision-2026.ts'
import { createEnvelopes, type Envelopes } from './envelopes.ts'
import { withExactIds } from './exact-ids.ts'
import {
  BATCHING_REVISION,
  parseFastPathCall,
  readMessages,
  RPC_CODES,
  isInitialize,
  whyNoBatch,
  type Answer,
  type ReadMessage,
  type RefusedMessage,
} from './messages.ts'
import { fastPathCallIn, REVISION, type FastPathCall } from './fast-path-call.ts'
import { createPlainCalls, type PlainCalls } from './fast-path-calls.ts'
import { maySee, pendingUri } from './resources.ts'
import { createMcpServer } from './server.ts'
import { createMcpSessions, resourceUpdated, type McpSession, type McpSessions } from './sessions.ts'
import { viewOf } from './view.ts'
import { answerOf } from '../http/answered.ts'
import { contextInHeaders } from '../http/context.ts'
import type { Enter } from '../http/admission.ts'
import { admit } from '../http/guard.ts'
import { problemOf, sendProblem } from '../http/problems.ts'
import { readBody } from '../http/body.ts'
import type { RawRoute } from '../http/server.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import { createBudget } from '../../kernel/budget.ts'
import { toolProblem, type McpProjection } from '../../kernel/projections/project-mcp.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { hasMoreValues } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { HubApi } from '../hub-api.ts'

export interface McpHttpOptions {
  kernel: Kernel
  projection: McpProjection
  api: HubApi
  version: string
  /** MCP methods in addition to those of the kernel. */
  extend?: McpExtend | undefined
}

/** JSON-RPC error codes: those of the specification, and -32000, which MCP's SDKs use for transport errors. */
const RPC = { ...RPC_CODES, transport: -32000, session_unknown: -32001 }

/** A rejected request, in the form in which the SDK reports its own rejections. */
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
    detail: 'This caller has no such MCP session.',
    hint: 'Start a new one: send initialize without Mcp-Session-Id.',
  }),
}

export async function createMcpHttp(options: McpHttpOptions): Promise<RawRoute> {
  const { api } = options
  const tool_listeners: (() => void)[] = []
  const toolsChanged = () => {
    for (const notify of tool_listeners) notify()
  }
  const extension = options.extend?.({ toolsChanged }) ?? NO_EXTENSION
  const makeServer = () => createMcpServer({ ...options, extension, ids: api.ids, peerOf })
  const sessions = createMcpSessions(api)
  const cancellations = createCancellations()
  const exchanges = await createExchanges(makeServer(), cancellations, api)
  const modern = createRevision2026(makeServer, api)
  const plain = createPlainCalls({ ...options, extension, cancellations })
  tool_listeners.push(
    () => modern.notify.toolsChanged(),
    () => sessions.notify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, () => true),
  )
  const stopWatching = api.events.watch(({ type, agent_id }) => {
    if (type !== 'signal.pushed' || agent_id === null) return
    const uri = pendingUri(agent_id)
    modern.notify.resourceUpdated(uri)
    sessions.notify(resourceUpdated(uri), ({ subscriptions }) => subscriptions.has(uri))
  })
  const stopFollowing = options.kernel.changed(toolsChanged)
  const stop = new AbortController()
  const handle = createHandler({
    api,
    sessions,
    exchanges,
    modern,
    plain,
    envelopes: createEnvelopes(),
    stopping: stop.signal,
  })

  return {
    path: '/mcp',
    async handle(request, response, enter) {
      try {
        await handle(request, response, enter)
      } catch (error) {
        sendProblem(response, problemOf(error, api, request.url ?? ''))
      }
    },
    async stop() {
      stop.abort()
      stopWatching()
      stopFollowing()
      sessions.close()
      await Promise.all([plain.close(), modern.close(), exchanges.close()])
    },
  }
}

interface Handlers {
  api: HubApi
  sessions: McpSessions
  exchanges: Exchanges
  modern: Revision2026
  plain: PlainCalls
  envelopes: Envelopes
  /** Aborted when the hub stops: the handlers end, so a request whose body arrives later is rejected. */
  stopping: AbortSignal
}

/** One POST: its request, its response, and the sender. */
interface Post {
  request: IncomingMessage
  response: ServerResponse
  peer: McpPeer
}

function createHandler(handlers: Handlers) {
  const { api, sessions } = handlers
  return async (request: IncomingMessage, response: ServerResponse, enter: Enter): Promise<void> => {
    const caller = admit(request, api, { token_in_query: true })
    const waits = enter(request, response, caller)
    if (waits !== undefined) await waits
    if (request.method === 'POST') return servePost(handlers, request, response, caller)
    const session = sessionOf(sessions, request, caller)
    if (request.method === 'GET') openStream(handlers, request, response, session, caller)
    else if (request.method === 'DELETE') {
      if (session === null || session === undefined || !sessions.end(session.id, caller))
        refuse(api, response, UNKNOWN_SESSION)
      else response.writeHead(200).end()
    } else {
      response.setHeader('allow', 'GET, POST, DELETE')
      refuse(api, response, { httpStatus: 405, code: RPC.transport, message: 'Method not allowed.' })
    }
  }
}

async function servePost(
  handlers: Handlers,
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
): Promise<void> {
  const { api } = handlers
  if (!isJsonContentType(request.headers['content-type'] ?? null)) {
    const message = 'Content-Type must be application/json.'
    return refuse(api, response, { httpStatus: 415, code: RPC.transport, message })
  }
  const text = await readBody(request, LIMITS.body_bytes_max)
  if (handlers.stopping.aborted)
    throw new TurnbellError('hub_stopping', { detail: 'The hub accepts no new requests.' })
  const value = parsedBody(text)
  if (value === undefined) {
    const message = 'The body is not valid JSON.'
    return refuse(api, response, { httpStatus: 400, code: RPC.parse_error, message })
  }
  if (hasMoreValues(value, LIMITS.wire_values_max)) {
    const message = `The body has more than ${LIMITS.wire_values_max} values.`
    return refuse(api, response, { httpStatus: 400, code: RPC.invalid_request, message })
  }
  const view = viewOf(request)
  const context = contextInHeaders(request.headers)
  const peer: McpPeer = { caller, view, context, answer: answerOf(response) }
  return serveBody(handlers, { request, response, peer }, text, value)
}

/** Serves a valid JSON body by its form and protocol era. */
async function serveBody(handlers: Handlers, post: Post, text: string, value: unknown): Promise<void> {
  const { api, modern, plain } = handlers
  const { request, response, peer } = post
  const fast_path = parseFastPathCall(text, value)
  const read = fast_path === null ? readMessages(text, value) : null
  if (read?.is_batch === true) return serveBatch(handlers, post, read.messages)
  const [only] = read?.messages ?? []
  if (only?.kind === 'refused') {
    const status = only.refused.is_tool_call ? 200 : 400
    return sendJson(response, status, refusalMessage(handlers, request, only.refused))
  }
  if (only?.kind === 'dropped') {
    const message = `The body is not a JSON-RPC message: ${only.why}.`
    return refuse(api, response, { httpStatus: 400, code: RPC.invalid_request, message })
  }
  const body = only === undefined ? value : only.message
  const call = plain.find(request, fast_path ?? fastPathCallIn(body))
  if (call?.modern === false) return answerPast(handlers, post, call)
  const classify = () => classifyInboundRequest({ httpMethod: 'POST', ...protocolHeaders(request), body })
  if (call !== null && handlers.envelopes.accepts(call.meta, () => classify().kind === 'modern'))
    return plain.answer(call, peer, response, undefined)
  const route = classify()
  if (route.kind === 'legacy') servePast(handlers, post, [body as JSONRPCMessage], null)
  else if (route.kind === 'reject') refuse(api, response, route, idOf(body))
  else await modern.serve(request, response, route, onlyOwn(peer.caller, body), peer)
}

/** Answers a fast-path call of the 2025 era. */
async function answerPast(
  { api, sessions, plain }: Handlers,
  { request, response, peer }: Post,
  call: FastPathCall,
): Promise<void> {
  const session = sessionOf(sessions, request, peer.caller)
  if (session === null) refuse(api, response, UNKNOWN_SESSION)
  else await plain.answer(call, peer, response, session?.id)
}

function serveBatch(handlers: Handlers, post: Post, read: readonly ReadMessage[]): void {
  const { request, response, peer } = post
  const version = request.headers['mcp-protocol-version']
  // Without the header the specification assumes the revision that has batches.
  const requested = typeof version === 'string' ? version : BATCHING_REVISION
  const is_known = SUPPORTED.includes(requested) || requested === REVISION
  const why = whyNoBatch(read, is_known ? requested : BATCHING_REVISION)
  // The specification requires one error without an id for a rejected body.
  if (why !== null)
    return refuse(handlers.api, response, { httpStatus: 400, code: RPC.invalid_request, message: why })
  const messages = read.flatMap((one) => (one.kind === 'message' ? [one.message] : []))
  const refused = read.flatMap((one) =>
    one.kind === 'refused' ? [refusalMessage(handlers, request, one.refused)] : [],
  )
  servePast(handlers, { ...post, peer: { ...peer, budget: createBudget() } }, messages, refused)
}

/** Serves messages of the 2025 era. `refused`: answers that a batch has already; null for a single message. */
function servePast(
  { api, sessions, exchanges }: Handlers,
  { request, response, peer }: Post,
  messages: readonly JSONRPCMessage[],
  refused: readonly Answer[] | null,
): void {
  const version = request.headers['mcp-protocol-version']
  if (typeof version === 'string' && !SUPPORTED.includes(version)) {
    const supported = SUPPORTED.join(', ')
    const message = `Unsupported protocol version: ${version} (supported versions: ${supported})`
    return refuse(api, response, { httpStatus: 400, code: RPC.transport, message })
  }
  const begins = messages.some(isInitialize)
  const session = begins ? sessions.begin(peer.caller) : sessionOf(sessions, request, peer.caller)
  if (session === null) return refuse(api, response, UNKNOWN_SESSION)
  const from: McpPeer = session === undefined ? peer : { ...peer, subscriptions: session.subscriptions }
  exchanges.serve(messages, from, response, {
    batch: refused !== null,
    refused: refused ?? [],
    streams: takesEvents(request.headers.accept),
    session_id: session?.id,
    headers: session === undefined ? {} : { 'mcp-session-id': session.id },
  })
}

/** Returns undefined if the request names no session: a single call needs none. Returns null if it is unknown. */
function sessionOf(
  sessions: McpSessions,
  request: IncomingMessage,
  caller: Caller,
): McpSession | null | undefined {
  const id = request.headers['mcp-session-id']
  return typeof id === 'string' ? sessions.find(id, caller) : undefined
}

function openStream(
  { api, sessions }: Handlers,
  request: IncomingMessage,
  response: ServerResponse,
  session: McpSession | null | undefined,
  caller: Caller,
): void {
  if (session === null) refuse(api, response, UNKNOWN_SESSION)
  else if (session === undefined || !takesEvents(request.headers.accept)) {
    response.setHeader('allow', 'POST')
    const message = 'A stream needs a session and Accept: text/event-stream.'
    refuse(api, response, { httpStatus: 405, code: RPC.transport, message })
  } else {
    sessions.open(session, caller, response, () => {
      response.writeHead(200, { ...EVENT_STREAM_HEADERS, 'mcp-session-id': session.id })
      response.flushHeaders()
    })
  }
}

function refusalMessage({ api, plain }: Handlers, request: IncomingMessage, refused: RefusedMessage): Answer {
  const { id, code, error, is_tool_call } = refused
  const problem = problemOf(error, api, '/mcp')
  if (!is_tool_call) return { jsonrpc: '2.0', id, error: { code, message: error.detail, data: problem } }
  const is_modern = request.headers['mcp-protocol-version'] === REVISION
  return { jsonrpc: '2.0', id, result: plain.inEra(toolProblem(problem), is_modern) }
}

function refuse(api: HubApi, response: ServerResponse, refused: Refused, id: RequestId | null = null): void {
  const { httpStatus, code, message, error = refusalOf(refused) } = refused
  const problem = { ...problemOf(error, api, '/mcp'), status: httpStatus }
  // Data of the SDK is for the client's SDK, for example the supported versions.
  const data = refused.data ?? problem
  sendJson(response, httpStatus, { jsonrpc: '2.0', error: { code, message, data }, id })
}

/** Removes subscriptions to queues of other personas from the request, as the specification allows. */
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

/** Returns the id of a rejected request; null if the body has none. */
function idOf(body: unknown): RequestId | null {
  const { method, id } = (body ?? {}) as { method?: unknown; id?: unknown }
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null
}
