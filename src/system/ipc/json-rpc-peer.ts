/**
 * JSON-RPC 2.0 over a byte stream, one message a line (https://www.jsonrpc.org/specification). Both sides may send
 * requests. Used by the daemon on its two sockets, by the command line and by the shims.
 *
 * Every received message is answered or dropped, and never causes an exception, because the peer may be any program.
 */
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { RPC_ERRORS, RpcRequest, RpcResponse } from '../../contracts/control.ts'
import {
  fromProblem,
  Problem,
  toProblem,
  TurnbellError,
  type ErrorCode,
} from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { wireJson } from '../../contracts/validation/json.ts'
import { walkNumbers } from '../../contracts/validation/json-numbers.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { RpcHandlers, RpcParams, RpcPeer } from '../../ports/rpc.ts'
import { systemClock } from '../clock.ts'

const NEWLINE = 0x0a
const NOTHING = Buffer.alloc(0)

/** JSON-RPC codes of turnbell's error codes; all others are `refused`. */
const NUMBERS: Partial<Record<ErrorCode, number>> = {
  unknown_verb: RPC_ERRORS.method_not_found,
  params_invalid: RPC_ERRORS.invalid_params,
  frame_invalid: RPC_ERRORS.invalid_request,
  line_too_long: RPC_ERRORS.invalid_request,
  internal: RPC_ERRORS.internal_error,
}

/** Takes over the stream. `handlersFor` gets the peer that its handlers serve, which may send requests at once. */
export function createRpcPeer(
  stream: Duplex,
  handlersFor: (peer: RpcPeer) => RpcHandlers,
  clock: Pick<Clock, 'after'> = systemClock,
): RpcPeer {
  const connection = createConnection(stream, clock)
  const requests = createRequests(connection, clock)
  /** The owner closed this peer itself, so it is not notified. */
  let closed_by_owner = false
  const peer: RpcPeer = {
    request: (method, params, timeout_ms) => requests.send(method, params, timeout_ms),
    close() {
      closed_by_owner = true
      connection.closeGracefully()
    },
  }
  const handlers = handlersFor(peer)
  const receiver = createReceiver(stream, connection, requests, handlers)

  stream.on('data', (chunk: Buffer) => receiver.onData(chunk))
  // Node.js reports the reason with `error` and always emits `close`.
  stream.on('error', () => {})
  stream.on('end', () => stream.end())
  stream.on('close', () => {
    if (connection.state() === 'closed') return
    receiver.readRest()
    connection.onClosed()
    requests.rejectAll()
    if (!closed_by_owner) handlers.onClose()
  })
  return peer
}

/** Writing side of the stream, and its end. */
function createConnection(stream: Duplex, clock: Pick<Clock, 'after'>) {
  let state: 'open' | 'closing' | 'closed' = 'open'
  return {
    state: () => state,
    onClosed: () => void (state = 'closed'),
    send(message: string): void {
      if (state === 'closed') return
      stream.write(`${message}\n`)
      // A peer that sends requests and does not read the responses would fill the memory.
      if (stream.writableLength > LIMITS.rpc_backlog_bytes_max) stream.destroy()
    },
    closeGracefully(): void {
      if (state !== 'open') return
      state = 'closing'
      stream.end()
      // Destroying at once could lose the last response; a peer that stays connected is closed after the grace period.
      const grace = clock.after(LIMITS.rpc_close_grace_ms, () => stream.destroy())
      stream.once('close', () => grace.cancel())
    },
  }
}

type Connection = ReturnType<typeof createConnection>

interface Waiting {
  resolve: (result: Json) => void
  reject: (error: TurnbellError) => void
  timer: Timer
}

/** Requests to the peer that wait for their responses. */
function createRequests(connection: Connection, clock: Pick<Clock, 'after'>) {
  const waiting = new Map<number, Waiting>()
  let next_id = 1
  return {
    send: (method: string, params: RpcParams, timeout_ms: number): Promise<Json> =>
      new Promise((resolve, reject) => {
        if (connection.state() !== 'open') {
          reject(new TurnbellError('daemon_unreachable', { detail: 'the connection is closed' }))
          return
        }
        const id = next_id++
        const timer = clock.after(timeout_ms, () => {
          waiting.delete(id)
          reject(new TurnbellError('timed_out', { detail: `${method} was not answered in ${timeout_ms} ms` }))
        })
        waiting.set(id, { resolve, reject, timer })
        connection.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      }),
    /** Returns false for a response without a request, or after its timeout. */
    onResponse({ id, result, error }: RpcResponse): boolean {
      const entry = typeof id === 'number' ? waiting.get(id) : undefined
      if (entry === undefined) return false
      waiting.delete(id as number)
      entry.timer.cancel()
      if (error === undefined) {
        entry.resolve(result ?? null)
        return true
      }
      const problem = Problem.safeParse(error.data)
      entry.reject(
        problem.success
          ? fromProblem(problem.data)
          : new TurnbellError('internal', { detail: error.message }),
      )
      return true
    },
    rejectAll(): void {
      for (const { timer, reject } of waiting.values()) {
        timer.cancel()
        reject(
          new TurnbellError('daemon_unreachable', { detail: 'the connection ended before the response' }),
        )
      }
      waiting.clear()
    },
  }
}

type Requests = ReturnType<typeof createRequests>

/**
 * Reads lines and handles each as a request, a response or an invalid message, in their order: what waits for a response
 * continues before the next line is handled. Otherwise an older status would replace a newer report in the same chunk.
 */
function createReceiver(stream: Duplex, connection: Connection, requests: Requests, handlers: RpcHandlers) {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const serve = createRequestHandler(connection, handlers)
  const refuse = (id: string, error: unknown, code?: number) =>
    sendError(connection, handlers, id, error, code)

  /** Returns whether a request of this side was answered. */
  function onLine(line: Buffer): boolean {
    let text: string
    let value: unknown
    try {
      text = decoder.decode(line).trim()
      if (text === '') return false
      value = wireJson(text)
    } catch {
      const error = new TurnbellError('frame_invalid', { detail: 'the line is not JSON in UTF-8' })
      refuse(NO_ID, error, RPC_ERRORS.parse_error)
      return false
    }
    const response = isResponse(value) ? RpcResponse.safeParse(value) : null
    if (response?.success) return requests.onResponse(response.data)
    if (Array.isArray(value) && value.length > 0) refuseBatch(text, value)
    else onRequest(text, value)
    return false
  }

  function onRequest(text: string, value: unknown): void {
    const id = idOf(text, value)
    const request = RpcRequest.safeParse(withoutAbsent(value))
    if (request.success) return serve(request.data, request.data.id === undefined ? undefined : id)
    refuse(id, new TurnbellError('frame_invalid', { detail: 'the line is not a JSON-RPC 2.0 message' }))
  }

  /** Batches are not supported. Each request of a batch is rejected under its own id. */
  function refuseBatch(text: string, values: readonly unknown[]): void {
    const detail = 'a line holds one message, not a batch'
    const ids = values.flatMap((value, at) => (isResponse(value) ? [] : [idOf(text, value, at)]))
    for (const id of new Set(ids)) refuse(id, new TurnbellError('frame_invalid', { detail }))
  }

  function onTooLong(): void {
    const detail = `a line is longer than ${LIMITS.line_bytes_max} bytes`
    refuse(NO_ID, new TurnbellError('line_too_long', { detail }))
    connection.closeGracefully()
  }

  const reader = createLineReader(() => connection.state() === 'open', onLine, onTooLong)
  let paused = false

  function resume(): void {
    if (!paused) return
    paused = reader.read()
    if (paused) setImmediate(resume)
    else stream.resume()
  }

  return {
    onData(chunk: Buffer): void {
      reader.add(chunk)
      if (paused) return
      paused = reader.read()
      if (!paused) return
      stream.pause()
      setImmediate(resume)
    },
    /** Handles the rest of what was received before the stream closed. */
    readRest(): void {
      paused = false
      while (reader.read());
    },
  }
}

/** Splits chunks into lines, while `isOpen` and up to the first line that is too long. */
function createLineReader(
  isOpen: () => boolean,
  onLine: (line: Buffer) => boolean,
  onTooLong: () => void,
): {
  add(chunk: Buffer): void
  /** Handles lines until one returns true, and returns whether one did. */
  read(): boolean
} {
  let unread: Buffer = NOTHING
  let partial: Buffer[] = []
  let partial_bytes = 0
  return {
    add: (chunk) => void (unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])),
    read() {
      while (isOpen() && unread.length > 0) {
        const end = unread.indexOf(NEWLINE)
        const part = unread.subarray(0, end === -1 ? undefined : end)
        if (partial_bytes + part.length > LIMITS.line_bytes_max) {
          partial = []
          onTooLong()
          return false
        }
        unread = end === -1 ? NOTHING : unread.subarray(end + 1)
        if (end === -1) {
          partial.push(part)
          partial_bytes += part.length
          return false
        }
        const line = partial.length === 0 ? part : Buffer.concat([...partial, part])
        partial = []
        partial_bytes = 0
        if (onLine(line)) return true
      }
      return false
    },
  }
}

/** Returns a function that answers a request; `id` is undefined for a notification. */
function createRequestHandler(connection: Connection, handlers: RpcHandlers) {
  let running = 0
  return ({ method, params }: RpcRequest, id: string | undefined): void => {
    const fail = (error: unknown) => {
      if (id !== undefined) sendError(connection, handlers, id, error)
    }
    const succeed = (result: Json) => {
      if (id !== undefined) sendResponse(connection, id, { result: result ?? null })
    }
    if (running >= LIMITS.rpc_in_flight_max) {
      const detail = `${LIMITS.rpc_in_flight_max} requests of this connection are unanswered`
      return fail(new TurnbellError('limit_reached', { detail }))
    }
    try {
      const result = handlers.onRequest(method, params ?? {})
      // Synchronous results are sent at once, so that responses keep the order of the requests.
      if (!(result instanceof Promise)) return succeed(result)
      running += 1
      void result.then(succeed, fail).finally(() => (running -= 1))
    } catch (error) {
      fail(error)
    }
  }
}

/** `id` is the JSON text of the request's id, because it may be a number that JavaScript cannot represent. */
function sendResponse(
  connection: Connection,
  id: string,
  response: { result: Json } | { error: object },
): void {
  connection.send(`{"jsonrpc":"2.0","id":${id},${JSON.stringify(response).slice(1)}`)
}

function sendError(
  connection: Connection,
  handlers: RpcHandlers,
  id: string,
  error: unknown,
  number?: number,
): void {
  const instance = randomUUID()
  const problem = toProblem(error, instance)
  if (problem.code === 'internal') handlers.onBug?.(error, instance)
  const code = number ?? NUMBERS[problem.code as ErrorCode] ?? RPC_ERRORS.refused
  sendResponse(connection, id, {
    error: { code, message: `${problem.title}: ${problem.detail}`, data: problem },
  })
}

const NO_ID = 'null'

/** Returns the id of a message as the JSON text that its sender wrote; `at` is its index in a batch. */
function idOf(text: string, value: unknown, at?: number): string {
  if (typeof value !== 'object' || value === null) return NO_ID
  const { id } = value as { id?: unknown }
  if (typeof id === 'string' || Number.isSafeInteger(id)) return JSON.stringify(id)
  return typeof id === 'number' ? idSource(text, at) : NO_ID
}

function idSource(text: string, at: number | undefined): string {
  const idPath = JSON.stringify(at === undefined ? ['id'] : [at, 'id'])
  let found = NO_ID
  walkNumbers(text, ({ source, depth, path }) => {
    // For duplicate names the last one counts.
    if (depth <= 2 && JSON.stringify(path()) === idPath) found = source
    return true
  })
  return found
}

/** Removes `params` that are null or an empty list. Any numeric id becomes 0. */
function withoutAbsent(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { params, id, ...rest } = value as { params?: unknown; id?: unknown }
  const absent = params === null || (Array.isArray(params) && params.length === 0)
  return {
    ...rest,
    ...(absent || params === undefined ? {} : { params }),
    ...('id' in value ? { id: typeof id === 'number' ? 0 : id } : {}),
  }
}

/** A message with a method is a request, even if it is invalid; a response has a result or an error. */
function isResponse(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return !('method' in value) && ('result' in value || 'error' in value)
}
