/** Client of an opencode server: plain HTTP on loopback, and its event stream. */
import type { z } from 'zod'
import {
  UserRequest,
  Envelope,
  Event,
  Health,
  Messages,
  OpenRequests,
  Session,
  Statuses,
  type StoredMessage,
  type PermissionReply,
  type Prompt,
} from './protocol.ts'
import { readEventStream } from './event-stream.ts'
import { opencodeVersionFault } from '../../src/contracts/clients/client-versions.ts'
import { parseJsonOrNull } from '../../src/contracts/validation/json.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** Identifies a session; the server has one instance per directory. */
export interface SessionRef {
  id: string
  directory: string
}

export class OpencodeError extends Error {
  readonly status: number | null

  /** `status` is the HTTP status; null if the server did not answer. */
  constructor(status: number | null, message: string, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}

/** The server has an unsupported version. */
export class OpencodeVersionError extends Error {}

/** @throws OpencodeError from every method. */
export interface OpencodeServer {
  /** Returns null if the session does not exist. */
  session(session_ref: SessionRef): Promise<Session | null>
  /** Returns the newest messages with their parts, oldest first; at most `limit`. */
  messages(session_ref: SessionRef, limit: number): Promise<StoredMessage[]>
  isBusy(session_ref: SessionRef): Promise<boolean>
  /** Resolves when the server has accepted the prompt; events report whether it is answered. */
  prompt(session_ref: SessionRef, prompt: Prompt): Promise<void>
  /** Deletes a stored message. Absent if the client of the server has no such call. */
  removeMessage?(session_ref: SessionRef, message_id: string): Promise<void>
  close(): void
}

/** Additional operations on the persona's own server. */
export interface OwnedServer extends OpencodeServer {
  /** Whether the event stream has ended. */
  isGone(): boolean
  createSession(directory: string): Promise<SessionRef>
  /** Returns the open requests of its sessions to a person. */
  openRequests(directory: string): Promise<UserRequest[]>
  /** `request` is the request's id with the directory of its session. */
  replyPermission(request: SessionRef, reply: PermissionReply): Promise<void>
  rejectQuestion(request: SessionRef): Promise<void>
}

export interface OpencodeHandlers {
  onEvent: (event: Event) => void
  onRequest: (request: UserRequest) => void
  /** Called with each event as the server sent it, and the directory of its instance, before the others. Must not throw. */
  onPayload?: (payload: object, directory: string) => void
  onClose: () => void
}

export interface ServerAccess {
  url: string
  authorization: string
}

/** Connects and subscribes to the events. Rejects if no server answers. */
export async function connectOpencode(
  at: ServerAccess,
  options: { clock: Pick<Clock, 'after'>; log: Log },
  handlers: OpencodeHandlers,
): Promise<OwnedServer> {
  const http = serverHttp(at, options.clock)
  await requireVersion(http)
  const stream = await openEvents(at, options, handlers)
  return {
    ...sessionCalls(http),
    ...ownerCalls(http),
    isGone: () => stream.signal.aborted,
    close: () => stream.abort(),
  }
}

interface ServerHttp {
  /** @throws OpencodeError if the server did not answer in time. */
  readonly send: (route: string, init?: RequestInit, timeout_ms?: number) => Promise<Response>
  /** @throws OpencodeError also for an error status or an unknown format. */
  readonly read: <T>(route: string, schema: z.ZodType<T>) => Promise<T>
  /** @throws OpencodeError also for an error status. */
  readonly post: (route: string, body: object, timeout_ms?: number) => Promise<Response>
}

function serverHttp(at: ServerAccess, clock: Pick<Clock, 'after'>): ServerHttp {
  async function send(
    route: string,
    init: RequestInit = {},
    timeout_ms: number = LIMITS.opencode_answer_ms,
  ): Promise<Response> {
    const abort = new AbortController()
    const timeout = clock.after(timeout_ms, () => abort.abort())
    try {
      const options = { ...init, headers: headersFor(at), signal: abort.signal }
      const response = await fetch(`${at.url}${route}`, options)
      // Read here, so that the timeout covers the body too.
      const body = await response.arrayBuffer()
      return new Response(response.status === 204 ? null : body, { status: response.status })
    } catch (cause) {
      throw new OpencodeError(null, `${route} failed or timed out`, cause)
    } finally {
      timeout.cancel()
    }
  }

  return {
    send,
    async read(route, schema) {
      const response = await send(route)
      if (!response.ok) throw new OpencodeError(response.status, `${route}: ${response.status}`)
      return parseBody(route, response, schema)
    },
    async post(route, body, timeout_ms) {
      const response = await send(route, { method: 'POST', body: JSON.stringify(body) }, timeout_ms)
      if (!response.ok) throw new OpencodeError(response.status, `${route}: ${response.status}`)
      return response
    },
  }
}

const headersFor = ({ authorization }: ServerAccess) => ({
  authorization,
  'content-type': 'application/json',
})

/** @throws OpencodeError */
async function parseBody<T>(route: string, response: Response, schema: z.ZodType<T>): Promise<T> {
  const answer = schema.safeParse(parseJsonOrNull(await response.text()))
  if (answer.success) return answer.data
  throw new OpencodeError(null, `${route} was answered in an unknown format: ${answer.error.message}`)
}

/** @throws OpencodeVersionError, OpencodeError */
async function requireVersion({ read }: ServerHttp): Promise<void> {
  const { version } = await read('/global/health', Health).catch((error: unknown) => {
    if (!(error instanceof OpencodeError) || error.status !== 404) throw error
    return { version: 'of an unknown version' }
  })
  const fault = opencodeVersionFault(version)
  if (fault !== null) throw new OpencodeVersionError(fault)
}

/** Subscribes to the events. Returns the controller that ends the stream. @throws OpencodeError */
async function openEvents(
  at: ServerAccess,
  { clock, log }: { clock: Pick<Clock, 'after'>; log: Log },
  handlers: OpencodeHandlers,
): Promise<AbortController> {
  const stream = new AbortController()
  // The timeout covers only the headers, because the stream has no end.
  const timeout = clock.after(LIMITS.opencode_answer_ms, () => stream.abort())
  const response = await fetch(`${at.url}/global/event`, { headers: headersFor(at), signal: stream.signal })
    .catch((cause: unknown) => {
      throw new OpencodeError(null, '/global/event failed or timed out', cause)
    })
    .finally(() => timeout.cancel())
  if (!response.ok || response.body === null)
    throw new OpencodeError(response.status, `/global/event: ${response.status}`)

  function onData(text: string): void {
    const envelope = Envelope.safeParse(parseJsonOrNull(text))
    if (!envelope.success) return log.warn({}, 'invalid event from the server ignored')
    handlers.onPayload?.(envelope.data.payload, envelope.data.directory ?? '')
    const event = Event.safeParse(envelope.data.payload)
    if (event.success) return handlers.onEvent(event.data)
    const request = UserRequest.safeParse(envelope.data.payload)
    if (request.success) handlers.onRequest(request.data)
  }

  const reader = { clock, log, abort: () => stream.abort(), onData }
  void readEventStream(response.body, reader).then(() => handlers.onClose())
  return stream
}

function sessionCalls({ send, read, post }: ServerHttp): Omit<OpencodeServer, 'close'> {
  return {
    async session({ id, directory }) {
      try {
        return await read(`/session/${encoded(id)}${directoryQuery(directory)}`, Session)
      } catch (error) {
        if (error instanceof OpencodeError && error.status === 404) return null
        throw error
      }
    },
    messages: ({ id, directory }, limit) =>
      read(`/session/${encoded(id)}/message${directoryQuery(directory)}&limit=${limit}`, Messages),
    async removeMessage({ id, directory }, message_id) {
      const route = `/session/${encoded(id)}/message/${encoded(message_id)}${directoryQuery(directory)}`
      const response = await send(route, { method: 'DELETE' })
      // 404: the message has been deleted already.
      if (!response.ok && response.status !== 404)
        throw new OpencodeError(response.status, `${route}: ${response.status}`)
    },
    async isBusy({ id, directory }) {
      const statuses = await read(`/session/status${directoryQuery(directory)}`, Statuses)
      return (statuses[id]?.type ?? 'idle') !== 'idle'
    },
    async prompt({ id, directory }, prompt) {
      const route = `/session/${encoded(id)}/prompt_async${directoryQuery(directory)}`
      await post(route, prompt)
    },
  }
}

/** Operations that only the owner of the server uses. */
function ownerCalls({ read, post }: ServerHttp): Omit<OwnedServer, keyof OpencodeServer | 'isGone'> {
  return {
    async createSession(directory) {
      const route = `/session${directoryQuery(directory)}`
      // Longer timeout, because a retry after an abort would create a second session.
      const response = await post(route, {}, LIMITS.opencode_first_answer_ms)
      const { id } = await parseBody(route, response, Session)
      return { id, directory }
    },
    async openRequests(directory) {
      const [permissions, questions] = await Promise.all([
        read(`/permission${directoryQuery(directory)}`, OpenRequests),
        read(`/question${directoryQuery(directory)}`, OpenRequests),
      ])
      return [
        ...permissions.map((properties) => ({ type: 'permission.asked' as const, properties })),
        ...questions.map((properties) => ({ type: 'question.asked' as const, properties })),
      ]
    },
    async replyPermission({ id, directory }, reply) {
      await post(`/permission/${encoded(id)}/reply${directoryQuery(directory)}`, reply)
    },
    async rejectQuestion({ id, directory }) {
      await post(`/question/${encoded(id)}/reject${directoryQuery(directory)}`, {})
    },
  }
}

/** Returns the query that selects the server's instance for the directory. */
function directoryQuery(directory: string): string {
  return `?directory=${encoded(directory)}`
}

/**
 * Encodes a text for a URL. Lone surrogates are replaced first, as URLs and file systems do:
 * https://webidl.spec.whatwg.org/#idl-USVString
 */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
