/**
 * A scripted model behind one of the real APIs, sufficient to drive a real client without a network and without a
 * model. It runs inside the test, so a scene scripts it and reads the received requests by function calls.
 */
import { randomBytes } from 'node:crypto'
import http from 'node:http'

export interface Reply {
  text?: string
  tools?: { name: string; input: object }[]
  /** The response starts when this resolves. */
  after?: Promise<unknown>
  /** HTTP status of an error response. */
  fails?: number
}

/**
 * The sender of a request: the main agent, a subagent, or the client itself (titles, summaries). The latter never
 * consumes a scripted reply.
 */
export type Role = 'main' | 'sub' | 'other'

/** The content that one request shows the model. */
export interface Reading {
  role: Role
  /** Text of everything after the model's last answer: prompts, reminders, tool results. */
  fresh: string
  /** The system prompt, for clients that extend it. */
  system?: string
  /** Only the tool results within `fresh`. */
  tool_results: string[]
  tools: string[]
}

/** One request of the client, with the content shown to the model. */
export interface Shown extends Reading {
  n: number
  /** Time in monotonic milliseconds. */
  at: number
  reply: Reply
}

/** The protocol between a client and its model. */
export interface ModelApi {
  /** Path of the request for an answer. */
  path: string
  read(body: unknown, headers: http.IncomingHttpHeaders): Reading
  answer(response: http.ServerResponse, body: unknown, reply: Reply): void
  /** Answers the client's other requests; undefined is a 404. */
  besides(method: string, path: string, text: string): object | undefined
}

export interface ModelServer {
  server: http.Server
  /** All requests so far, in order. */
  shown: Shown[]
  /** Replies once to the next main request whose fresh text matches. Has precedence over `always`. */
  next(when: RegExp, reply: Reply): void
  /** Replies to every request of a role whose fresh text matches; the last registered one wins. */
  always(when: RegExp, reply: Reply | ((request: Shown) => Reply), role?: Role): void
  close(): Promise<void>
}

/** Creates the server; the caller calls `listen`. */
export function createModelServer(api: ModelApi): ModelServer {
  const shown: Shown[] = []
  const once: { when: RegExp; reply: Reply }[] = []
  const standing: { when: RegExp; role: Role; reply: Reply | ((request: Shown) => Reply) }[] = []

  function replyTo(request: Shown): Reply {
    const index = request.role === 'main' ? once.findIndex(({ when }) => when.test(request.fresh)) : -1
    if (index !== -1) return once.splice(index, 1)[0]!.reply
    const rule = standing.findLast(({ when, role }) => role === request.role && when.test(request.fresh))
    if (rule !== undefined) return typeof rule.reply === 'function' ? rule.reply(request) : rule.reply
    return { text: request.role === 'other' ? '{"title": "scene", "isNewTopic": false}' : 'Done.' }
  }

  async function onAsked(body: unknown, headers: http.IncomingHttpHeaders, response: http.ServerResponse) {
    const request: Shown = {
      n: shown.length + 1,
      at: performance.now(),
      ...api.read(body, headers),
      reply: {},
    }
    request.reply = replyTo(request)
    shown.push(request)
    await request.reply.after
    if (response.destroyed) return
    const { fails } = request.reply
    if (fails === undefined) api.answer(response, body, request.reply)
    else sendJson(response, fails, { error: { type: 'invalid_request_error', message: 'as told' } })
  }

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = (request.url ?? '').split('?')[0] ?? ''
      const text = Buffer.concat(chunks).toString('utf8')
      if (request.method === 'POST' && path === api.path) {
        void onAsked(JSON.parse(text), request.headers, response)
        return
      }
      const besides = api.besides(request.method ?? '', path, text)
      if (besides !== undefined) sendJson(response, 200, besides)
      else
        sendJson(response, 404, {
          type: 'error',
          error: { type: 'not_found_error', message: 'no such route' },
        })
    })
  })

  return {
    server,
    shown,
    next: (when, reply) => void once.push({ when, reply }),
    always: (when, reply, role = 'main') => void standing.push({ when, role, reply }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

export function sendJson(response: http.ServerResponse, status: number, value: object): void {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

/** Writes server-sent events; the data also contains the type. */
export function eventStream(response: http.ServerResponse): (type: string, data: object) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  return (type, data) => void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
}

export function someId(kind: string): string {
  return `${kind}_${randomBytes(8).toString('hex')}`
}
