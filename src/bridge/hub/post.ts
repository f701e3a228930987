/**
 * Sends requests to the hub over kept-alive connections, and reports whether a failed request may have
 * reached it.
 */
import http from 'node:http'
import https from 'node:https'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { createEventReader } from './event-stream.ts'

export interface HubAnswer {
  status: number
  content_type: string
  body: string
}

/** The hub's answer exceeds the limit; repeating the request does not help. */
class AnswerTooLarge extends TurnbellError {
  constructor() {
    super('answer_too_large', {
      detail: `The answer exceeds ${LIMITS.bridge_answer_bytes_max} bytes. A change that the call makes may have been made.`,
    })
  }
}

/** The hub sent no complete answer. */
export class HubUnreachable extends Error {
  /** True if the connection was never made, so the hub cannot have acted on the request. */
  readonly unsent: boolean

  constructor(unsent: boolean, cause: Error) {
    super(cause.message, { cause })
    this.unsent = unsent
  }
}

export interface HubPost {
  /** @throws HubUnreachable, AnswerTooLarge, or the reason of the abort. */
  post(
    url: string,
    headers: Record<string, string>,
    body: unknown,
    options?: { abort?: AbortSignal | undefined; answer_ms?: number },
  ): Promise<HubAnswer>
  /** Like `post`, for a GET request. */
  get(url: string, headers: Record<string, string>, options: { answer_ms: number }): Promise<HubAnswer>
  /**
   * Like `post`, for a streamed answer: `onEvent` receives the data of each server-sent event. Resolves when
   * the hub ends it, with the whole answer if it is not an event stream.
   */
  stream(
    url: string,
    headers: Record<string, string>,
    body: unknown,
    abort: AbortSignal,
    onEvent: (data: string) => void,
  ): Promise<HubAnswer | null>
  close(): void
}

interface Agents {
  'http:': http.Agent
  'https:': https.Agent
}

export function hubPost(clock: Pick<Clock, 'after'>): HubPost {
  // A restarted hub has closed these connections; Node then opens new ones.
  const agents: Agents = {
    'http:': new http.Agent({ keepAlive: true }),
    'https:': new https.Agent({ keepAlive: true }),
  }

  const post: HubPost['post'] = (url, headers, body, { abort, answer_ms = LIMITS.bridge_answer_ms } = {}) =>
    new Promise((resolve, reject) => {
      const failed = (error: Error) => {
        timeout.cancel()
        reject(error)
      }
      const request = send(agents, url, headers, body, abort, failed, (response) => {
        collect(response, (answer) => {
          timeout.cancel()
          if (answer === null)
            reject(new HubUnreachable(false, new Error('the connection closed during the answer')))
          else resolve(answer)
        })
      })
      const timeout = clock.after(answer_ms, () =>
        request.destroy(new Error(`no answer within ${answer_ms} ms`)),
      )
    })

  return {
    post,
    get: (url, headers, options) => post(url, headers, NO_BODY, options),
    stream: (url, headers, body, abort, onEvent) =>
      new Promise((resolve, reject) => {
        send(agents, url, headers, body, abort, reject, (response) => {
          if (response.headers['content-type']?.includes('text/event-stream') !== true) {
            return collect(response, resolve)
          }
          const onTooLarge = () => void response.destroy(new AnswerTooLarge())
          const reader = createEventReader({ onData: onEvent, onTooLarge })
          response.setEncoding('utf8')
          response.on('data', (text: string) => reader.read(text))
          response.on('end', () => resolve(null))
        })
      }),
    close() {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

/** Body of a GET request. */
const NO_BODY = Symbol('no body')

/** Sends the request; `onResponse` is called when the answer begins. */
function send(
  agents: Agents,
  url: string,
  headers: Record<string, string>,
  body: unknown,
  abort: AbortSignal | undefined,
  failed: (error: Error) => void,
  onResponse: (response: http.IncomingMessage) => void,
): http.ClientRequest {
  const text = body === NO_BODY ? undefined : JSON.stringify(body)
  const secure = url.startsWith('https:')
  const request = (secure ? https : http).request(url, {
    method: text === undefined ? 'GET' : 'POST',
    agent: agents[secure ? 'https:' : 'http:'],
    headers: { ...bodyHeaders(text), ...headers },
    ...(abort === undefined ? {} : { signal: abort }),
  })
  let connected = false
  const fail = (error: Error, unsent: boolean) =>
    failed(
      error instanceof AnswerTooLarge || abort?.aborted === true ? error : new HubUnreachable(unsent, error),
    )
  request.on('socket', (socket) => {
    if (!socket.connecting) connected = true
    else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true))
  })
  request.on('error', (error) => fail(error, !connected))
  // Without this listener the request would never complete when the server switches protocols.
  request.on('upgrade', (_, socket) => {
    socket.destroy()
    failed(new HubUnreachable(false, new Error('the server switched to another protocol')))
  })
  request.on('response', (response) => {
    response.on('error', (error) => fail(error, false))
    onResponse(response)
  })
  request.end(text)
  return request
}

function bodyHeaders(text: string | undefined): http.OutgoingHttpHeaders {
  if (text === undefined) return {}
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
}

function collect(response: http.IncomingMessage, done: (answer: HubAnswer | null) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > LIMITS.bridge_answer_bytes_max) response.destroy(new AnswerTooLarge())
  })
  response.on('end', () =>
    done(
      response.complete
        ? {
            status: response.statusCode ?? 0,
            content_type: response.headers['content-type'] ?? '',
            body: Buffer.concat(chunks).toString('utf8'),
          }
        : null,
    ),
  )
}
