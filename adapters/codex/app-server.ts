/**
 * Client of the Codex app-server: JSON-RPC over WebSocket over a Unix socket.
 *
 * The server sends its requests (approvals, questions) to all clients and uses the first answer. Without an
 * `answer` handler this client leaves them to others.
 */
import net from 'node:net'
import { WebSocket } from 'ws'
import * as z from 'zod'
import { Notification, ServerRequest } from './protocol.ts'
import { pendingRequests, type PendingRequests } from '../pending-requests.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { parseJsonOrNull } from '../../src/contracts/validation/json.ts'

/** JSON-RPC 2.0, section 5.1; also returned for a thread that is not loaded. */
export const INVALID_REQUEST = -32_600
/** Code of the app-server: it is overloaded and rejects requests. */
export const OVERLOADED = -32_001

export class AppServerError extends Error {
  readonly code: number | null

  /** `code` is the JSON-RPC code; null if the server did not answer, or in an unknown format. */
  constructor(code: number | null, message: string) {
    super(message)
    this.code = code
  }
}

/** An answer in an unknown format: the server uses another version of its protocol. */
export class AppServerFormatError extends AppServerError {
  constructor(message: string) {
    super(null, message)
  }
}

export interface AppServer {
  /** The server's name, version and system. */
  user_agent: string
  /** @throws AppServerError */
  call<T>(method: string, params: object, answer: z.ZodType<T>, timeout_ms?: number): Promise<T>
  close(): void
}

export interface AppServerHandlers {
  onNotification: (notification: Notification) => void
  /** Every notification and request of the server as it is, before it is handled. Must not throw. */
  onMessage?: ((message: object) => void) | undefined
  onClose: () => void
  /** Answers a request of the server. Null leaves the request to other clients. */
  answer?: (request: ServerRequest, server: Pick<AppServer, 'call'>) => Promise<object | null>
}

const Initialized = z.looseObject({ userAgent: z.string().default('') })

const Message = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
})

interface ConnectOptions {
  version: string
  clock: Pick<Clock, 'after'>
  log: Log
}

/** Connects and initializes. Rejects if no app-server listens. */
export async function connectAppServer(
  socket_path: string,
  options: ConnectOptions,
  handlers: AppServerHandlers,
): Promise<AppServer> {
  const { clock, log } = options
  const socket = await open(socket_path, clock)
  const pending = pendingRequests(clock)
  const call = callsTo(socket, pending)
  const handleRequest = requestHandler(socket, handlers, { call, clock, log })

  function handleMessage(text: string): void {
    const message = Message.safeParse(parseJsonOrNull(text))
    if (!message.success) return log.warn({}, 'invalid message from the app-server ignored')
    const { id, method, result, error } = message.data
    if (method !== undefined) handlers.onMessage?.(message.data)
    if (method !== undefined && id !== undefined) return void handleRequest(message.data)
    if (method !== undefined) {
      const notification = Notification.safeParse(message.data)
      if (notification.success) handlers.onNotification(notification.data)
      return
    }
    if (error === undefined) pending.resolve(id, result)
    else pending.reject(id, new AppServerError(error.code, error.message))
  }

  socket.on('message', (data: Buffer) => handleMessage(data.toString()))
  socket.on('error', (error) => log.debug({ err: error }, 'app-server connection failed'))
  socket.on('close', () => {
    pending.rejectAll(() => new AppServerError(null, 'the app-server closed the connection'))
    handlers.onClose()
  })

  try {
    const params = {
      clientInfo: { name: 'turnbell', title: 'turnbell', version: options.version },
      // Required for the queue of a thread.
      capabilities: { experimentalApi: true },
    }
    const { userAgent } = await call('initialize', params, Initialized)
    socket.send(JSON.stringify({ method: 'initialized' }))
    return { user_agent: userAgent, call, close: () => socket.close() }
  } catch (error) {
    // No caller has the socket. Terminated, because an unresponsive server would not finish a close.
    socket.terminate()
    throw error
  }
}

function callsTo(socket: WebSocket, pending: PendingRequests): AppServer['call'] {
  return async (method, params, answer, timeout_ms = LIMITS.codex_answer_ms) => {
    const timedOut = () => new AppServerError(null, `${method} timed out after ${timeout_ms} ms`)
    const send = (id: number) => socket.send(JSON.stringify({ id, method, params }))
    const parsed_answer = answer.safeParse(await pending.send(send, { timeout_ms, timedOut }))
    if (parsed_answer.success) return parsed_answer.data
    throw new AppServerFormatError(
      `${method} was answered in an unknown format: ${parsed_answer.error.message}`,
    )
  }
}

/** Returns a function that answers the server's requests; after a temporary failure it tries again. */
function requestHandler(
  socket: WebSocket,
  handlers: AppServerHandlers,
  { call, clock, log }: Pick<AppServer, 'call'> & Pick<ConnectOptions, 'clock' | 'log'>,
) {
  const isOpen = () => socket.readyState === WebSocket.OPEN

  return async function handleRequest(message: object, attempt: 'first' | 'again' = 'first'): Promise<void> {
    const request = ServerRequest.safeParse(message)
    if (!request.success || handlers.answer === undefined) return
    const { id, method } = request.data
    try {
      const result = await handlers.answer(request.data, { call })
      if (result !== null) socket.send(JSON.stringify({ id, result }))
    } catch (error) {
      // The connection is closed, so no answer can be sent.
      if (!isOpen()) return
      const retried = isTemporary(error)
      log[retried && attempt === 'again' ? 'debug' : 'warn'](
        { err: error, method, retried },
        'request of the app-server could not be answered',
      )
      // Otherwise the turn would wait for an answer without end.
      if (retried)
        clock.after(LIMITS.codex_search_retry_ms, () => {
          if (isOpen()) void handleRequest(message, 'again')
        })
    }
  }
}

/** Whether the same request may succeed later. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof AppServerError) || error instanceof AppServerFormatError) return false
  return error.code === null || error.code === OVERLOADED
}

function open(socket_path: string, clock: Pick<Clock, 'after'>): Promise<WebSocket> {
  const socket = new WebSocket('ws://localhost/', {
    // Not part of the URL, because a space, a colon or a non-ASCII letter in it would change the path.
    createConnection: () => net.connect(socket_path),
    perMessageDeflate: false,
    maxPayload: LIMITS.codex_message_bytes_max,
  })
  return new Promise((resolve, reject) => {
    const timeout = clock.after(LIMITS.codex_answer_ms, () => socket.terminate())
    socket.once('open', () => {
      timeout.cancel()
      resolve(socket)
    })
    socket.once('error', (error) => {
      timeout.cancel()
      reject(error)
    })
  })
}
