/**
 * Admission of HTTP requests, between authentication and handling. Limits unread responses and unfinished request bodies
 * per connection and per caller, for every route.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { whenClosed } from './answered.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { FairQueue } from '../../kernel/fair-queue.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { keyOf, type Quotas } from '../quotas.ts'

/** Returns `undefined` if the request may be handled at once. Throws `limit_reached`. */
export type Enter = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
) => Promise<void> | undefined

export interface Admission {
  enter: Enter
  /** A connection was opened; its caller is not known yet. */
  connected: (socket: Socket) => void
  /** The connection became a WebSocket, which has a quota of its own. */
  upgraded: (socket: Socket) => void
  /**
   * A request arrived; `handle` is called at once if it is the only one on its connection. A connection that sends too
   * many requests without reading responses is closed, and none of them is handled.
   */
  arrived: (request: IncomingMessage, response: ServerResponse, handle: () => void) => void
  close: () => void
}

interface AdmissionDeps {
  queue: FairQueue
  quotas: Quotas
  clock: Pick<Clock, 'every' | 'monotonic' | 'soon'>
  log: Log
}

export function createAdmission(deps: AdmissionDeps): Admission {
  const { queue, quotas, clock } = deps
  const connections = createConnectionTable(deps)
  const requests = createRequestTable(deps)
  const timer: Timer = clock.every(LIMITS.answer_unread_look_ms, () => requests.closeUnread())

  const admit: Enter = (request, response, caller) => {
    try {
      connections.identify(request.socket, caller)
      whenClosed(response, quotas.take(caller, 'request'))
    } catch (error) {
      // A connection beyond a quota is closed, so that no further requests are read from it.
      response.setHeader('connection', 'close')
      throw error
    }
    return requests.enter(keyOf(caller), request, response)
  }

  return {
    enter(request, response, caller) {
      // A rejection costs time as well, which counts as the caller's own.
      const entry = queue.enter(caller, 'pass')
      if (entry instanceof Promise)
        return entry.then(async (leave) => {
          leave()
          await admit(request, response, caller)
        })
      entry()
      return admit(request, response, caller)
    },
    connected: connections.connected,
    upgraded: connections.upgraded,
    arrived: connections.arrived,
    close: () => timer.cancel(),
  }
}

/** Connections: quotas, unknown callers, and requests sent ahead of the responses. */
function createConnectionTable({ quotas, clock, log }: AdmissionDeps) {
  /** Connections without a valid token, oldest first. */
  const unknown = new Set<Socket>()
  const identified = new WeakSet<Socket>()
  /** Number of requests of a connection, of all callers, whose response is not written. */
  const ahead = new WeakMap<Socket, number>()

  return {
    /** Counts the connection in the quota of its first caller. Throws `limit_reached`. */
    identify(socket: Socket, caller: Caller): void {
      if (identified.has(socket)) return
      const leave = quotas.take(caller, 'connection')
      identified.add(socket)
      unknown.delete(socket)
      // Each handled request may add a listener to its connection.
      socket.setMaxListeners(2 * LIMITS.connection_requests_max)
      socket.once('close', leave)
    },
    connected: (socket: Socket): void => {
      if (unknown.size >= LIMITS.unknown_connections_max) {
        const [oldest] = unknown
        oldest?.destroy()
      }
      unknown.add(socket)
      socket.once('close', () => unknown.delete(socket))
    },
    upgraded: (socket: Socket): void => void unknown.delete(socket),
    arrived: ({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void => {
      if (socket.destroyed) return
      const count = (ahead.get(socket) ?? 0) + 1
      if (count > LIMITS.connection_ahead_max) {
        log.info({}, 'connection closed: too many requests without reading responses')
        socket.destroy()
        return
      }
      ahead.set(socket, count)
      whenClosed(response, () => ahead.set(socket, (ahead.get(socket) ?? 1) - 1))
      if (count === 1) handle()
      else
        clock.soon(() => {
          if (!socket.destroyed) handle()
        })
    },
  }
}

interface Incoming {
  socket: Socket
  body_bytes: number
}

interface Waiting extends Incoming {
  go: () => void
}

/** Admitted requests of one caller, until their responses are closed. */
interface CallerRequests {
  handled: Map<ServerResponse, { body_bytes: number }>
  waiting: Set<Waiting>
  body_bytes: number
  /** A look at the waiting requests is scheduled. */
  is_due: boolean
}

/** For each handled response: frees its place. */
const leaving = new WeakMap<ServerResponse, () => void>()

/** Frees the response's place among the handled requests, because a stream stays open and has a quota of its own. */
export function becomesStream(response: ServerResponse): void {
  leaving.get(response)?.()
}

/** Handled and waiting requests of every caller. */
function createRequestTable({ clock, log }: AdmissionDeps) {
  const callers = new Map<string, CallerRequests>()
  const responsesOn = createResponsesBySocket()

  const requestsOf = (key: string): CallerRequests => {
    const found = callers.get(key)
    if (found !== undefined) return found
    const created: CallerRequests = { handled: new Map(), waiting: new Set(), body_bytes: 0, is_due: false }
    callers.set(key, created)
    return created
  }

  const startWaiting = (key: string, requests: CallerRequests) => {
    requests.is_due = false
    if (!isFull(requests))
      for (const waiting of requests.waiting) {
        if (requests.handled.size >= LIMITS.caller_requests_handled_max) break
        if (!hasRoom(requests, responsesOn(waiting.socket), waiting)) continue
        requests.waiting.delete(waiting)
        waiting.go()
      }
    if (requests.handled.size === 0 && requests.waiting.size === 0) callers.delete(key)
  }

  const begin = (key: string, requests: CallerRequests, response: ServerResponse, incoming: Incoming) => {
    const { socket, body_bytes } = incoming
    requests.handled.set(response, { body_bytes })
    requests.body_bytes += body_bytes
    responsesOn(socket).add(response)
    const leave = () => {
      if (!requests.handled.delete(response)) return
      requests.body_bytes -= body_bytes
      if (requests.waiting.size === 0) {
        if (requests.handled.size === 0) callers.delete(key)
      } else if (!requests.is_due) {
        requests.is_due = true
        clock.soon(() => startWaiting(key, requests))
      }
    }
    leaving.set(response, leave)
    whenClosed(response, () => {
      responsesOn(socket).delete(response)
      leave()
    })
  }

  return {
    /** Returns `undefined` if the request may be handled at once; otherwise resolves once it may. */
    enter(key: string, request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
      const requests = requestsOf(key)
      const incoming: Incoming = { socket: request.socket, body_bytes: bodyBytes(request) }
      if (!isFull(requests) && hasRoom(requests, responsesOn(request.socket), incoming)) {
        begin(key, requests, response, incoming)
        return undefined
      }
      return new Promise((resolve) => {
        const go = () => {
          begin(key, requests, response, incoming)
          resolve()
        }
        const waiting: Waiting = { ...incoming, go }
        requests.waiting.add(waiting)
        whenClosed(response, () => requests.waiting.delete(waiting))
      })
    },
    closeUnread: (): void => closeUnread(callers.values(), clock.monotonic(), log),
  }
}

/** Monotonic time in milliseconds at which a complete response was first seen unread. */
const unread_since = new WeakMap<ServerResponse, number>()

/** Closes connections whose complete response stays unread for `answer_unread_ms`. */
function closeUnread(callers: Iterable<CallerRequests>, now: number, log: Log): void {
  for (const { handled } of callers)
    for (const response of handled.keys()) {
      if (!response.writableEnded) continue
      const since = unread_since.get(response)
      if (since === undefined) unread_since.set(response, now)
      else if (now - since >= LIMITS.answer_unread_ms && !response.req.socket.destroyed) {
        log.info({}, 'connection closed: response not read')
        response.req.socket.destroy()
      }
    }
}

/** Returns the handled responses of a socket. */
function createResponsesBySocket(): (socket: Socket) => Set<ServerResponse> {
  const by_socket = new WeakMap<Socket, Set<ServerResponse>>()
  return (socket) => {
    const found = by_socket.get(socket)
    if (found !== undefined) return found
    const created = new Set<ServerResponse>()
    by_socket.set(socket, created)
    return created
  }
}

/** Returns whether the connection and the caller's body limit have room for one more request. */
function hasRoom(
  requests: CallerRequests,
  on_socket: ReadonlySet<ServerResponse>,
  { body_bytes }: Incoming,
): boolean {
  if (on_socket.size >= LIMITS.connection_requests_max) return false
  if (on_socket.size > 0 && bytesOf(on_socket) >= LIMITS.connection_unread_bytes_max) return false
  const bodies = requests.body_bytes
  return body_bytes === 0 || bodies === 0 || bodies + body_bytes <= LIMITS.caller_body_bytes_max
}

function isFull({ handled }: CallerRequests): boolean {
  if (handled.size >= LIMITS.caller_requests_handled_max) return true
  // Skips the sum for most callers: few responses cannot hold that many bytes.
  return (
    handled.size > LIMITS.connection_requests_max && bytesOf(handled.keys()) >= LIMITS.caller_unread_bytes_max
  )
}

/** Returns the size of the responses that are buffered in this process because they are unread. */
function bytesOf(responses: Iterable<ServerResponse>): number {
  let bytes = 0
  for (const response of responses) bytes += response.writableLength
  return bytes
}

/** A body without a length counts as one of the maximum length. */
function bodyBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return LIMITS.body_bytes_max
  const length = Number(headers['content-length'] ?? 0)
  return Number.isFinite(length) ? Math.min(length, LIMITS.body_bytes_max) : 0
}
