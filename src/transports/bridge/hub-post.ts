/** One POST to the hub over a kept connection, telling apart what never left from what may have. */
import http from 'node:http'
import https from 'node:https'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { createEventReader } from './event-reader.ts'

export interface HubAnswer {
  status: number
  content_type: string
  body: string
}

/** The hub answers with more than is taken in; asking again helps nothing. */
export class AnswerTooLarge extends TurnbellError {
  constructor() {
    super('answer_too_large', {
      detail: `The answer has more than ${LIMITS.bridge_answer_bytes_max} bytes. Where the call changes something, that may be done.`,
    })
  }
}

/** The hub gave no complete answer. */
export class HubAway extends Error {
  /** True when the hub cannot have acted on it: the connection was never made. */
  readonly unsent: boolean

  constructor(unsent: boolean, cause: Error) {
    super(cause.message, { cause })
    this.unsent = unsent
  }
}

export interface HubPost {
  /** @throws HubAway, AnswerTooLarge, or the reason of the abort. */
  post(
    url: string,
    headers: Record<string, string>,
    body: unknown,
    options?: { abort?: AbortSignal | undefined; answer_ms?: number },
  ): Promise<HubAnswer>
  /**
   * The same with an answer that goes on: `onEvent` gets the data of each server-sent event. Resolves when
   * the hub ends it, with the whole answer where that was no event stream.
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

export function hubPost(clock: Pick<Clock, 'after'>): HubPost {
  // A hub that was restarted has closed these; Node then opens new ones by itself.
  const agents = {
    'http:': new http.Agent({ keepAlive: true }),
    'https:': new https.Agent({ keepAlive: true }),
  }

  /** Sends it; `onResponse` gets the answer once it begins. */
  function send(
    url: string,
    headers: Record<string, string>,
    body: unknown,
    abort: AbortSignal | undefined,
    failed: (error: Error) => void,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest {
    const text = JSON.stringify(body)
    const secure = url.startsWith('https:')
    const request = (secure ? https : http).request(url, {
      method: 'POST',
      agent: agents[secure ? 'https:' : 'http:'],
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers },
      ...(abort === undefined ? {} : { signal: abort }),
    })
    let connected = false
    const broken = (error: Error, unsent: boolean) =>
      failed(error instanceof AnswerTooLarge || abort?.aborted === true ? error : new HubAway(unsent, error))
    request.on('socket', (socket) => {
      if (!socket.connecting) connected = true
      else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true))
    })
    request.on('error', (error) => broken(error, !connected))
    // Who listens for it must end the connection; who does not hears nothing at all.
    request.on('upgrade', (_, socket) => {
      socket.destroy()
      failed(new HubAway(false, new Error('the answer switches to another protocol')))
    })
    request.on('response', (response) => {
      response.on('error', (error) => broken(error, false))
      onResponse(response)
    })
    request.end(text)
    return request
  }

  return {
    post: (url, headers, body, { abort, answer_ms = LIMITS.bridge_answer_ms } = {}) =>
      new Promise((resolve, reject) => {
        const failed = (error: Error) => {
          timeout.cancel()
          reject(error)
        }
        const request = send(url, headers, body, abort, failed, (response) => {
          collect(response, (answer) => {
            timeout.cancel()
            if (answer === null) reject(new HubAway(false, new Error('the answer broke off')))
            else resolve(answer)
          })
        })
        const timeout = clock.after(answer_ms, () => request.destroy(new Error('no answer in time')))
      }),
    stream: (url, headers, body, abort, onEvent) =>
      new Promise((resolve, reject) => {
        send(url, headers, body, abort, reject, (response) => {
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
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
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
