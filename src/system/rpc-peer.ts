/**
 * JSON-RPC 2.0 over a byte stream, one message a line (https://www.jsonrpc.org/specification). Both
 * sides may ask. Used by the daemon on its two sockets, by the command line and by the shims.
 *
 * Whatever arrives is answered or dropped, never thrown: the other end of a local socket is a program
 * somebody else may have written.
 */
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { RPC_ERRORS, RpcRequest, RpcResponse } from '../contracts/control.ts'
import { fromProblem, Problem, toProblem, TurnbellError, type ErrorCode } from '../contracts/errors.ts'
import type { Json } from '../contracts/ids.ts'
import { wireJson } from '../contracts/json.ts'
import { walkNumbers } from '../contracts/json-numbers.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { RpcHandlers, RpcPeer } from '../ports/rpc.ts'
import { systemClock } from './clock.ts'

const NEWLINE = 0x0a

/** What a refusal's code is in JSON-RPC's own numbers; all others are `refused`. */
const NUMBERS: Partial<Record<ErrorCode, number>> = {
  unknown_verb: RPC_ERRORS.method_not_found,
  params_invalid: RPC_ERRORS.invalid_params,
  frame_invalid: RPC_ERRORS.invalid_request,
  line_too_long: RPC_ERRORS.invalid_request,
  internal: RPC_ERRORS.internal_error,
}

interface Waiting {
  resolve: (result: Json) => void
  reject: (error: TurnbellError) => void
  timer: Timer
}

/** Takes the stream over. `handlersFor` is given the peer it is to answer for, and may ask it at once. */
export function createRpcPeer(
  stream: Duplex,
  handlersFor: (peer: RpcPeer) => RpcHandlers,
  clock: Pick<Clock, 'after'> = systemClock,
): RpcPeer {
  const waiting = new Map<number, Waiting>()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let partial: Buffer[] = []
  let partial_bytes = 0
  let next_id = 1
  let answering = 0
  let state: 'open' | 'closing' | 'closed' = 'open'
  /** The owner closed this peer itself, and so need not be told. */
  let asked = false

  function sendText(message: string): void {
    if (state === 'closed') return
    stream.write(`${message}\n`)
    // A peer that asks and never reads would make us keep its answers for ever.
    if (stream.writableLength > LIMITS.rpc_backlog_bytes_max) stream.destroy()
  }

  /** `id`: the JSON text of the request's id, since a number may be one that JavaScript cannot hold. */
  function answer(id: string, said: { result: Json } | { error: object }): void {
    sendText(`{"jsonrpc":"2.0","id":${id},${JSON.stringify(said).slice(1)}`)
  }

  function refuse(id: string, error: unknown, number?: number): void {
    const instance = randomUUID()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') handlers.onBug?.(error, instance)
    const code = number ?? NUMBERS[problem.code as ErrorCode] ?? RPC_ERRORS.refused
    answer(id, { error: { code, message: `${problem.title}: ${problem.detail}`, data: problem } })
  }

  function onData(chunk: Buffer): void {
    let start = 0
    while (state === 'open') {
      const end = chunk.indexOf(NEWLINE, start)
      const part = chunk.subarray(start, end === -1 ? undefined : end)
      if (partial_bytes + part.length > LIMITS.line_bytes_max) {
        partial = []
        refuse(
          NO_ID,
          new TurnbellError('line_too_long', {
            detail: `a line is longer than ${LIMITS.line_bytes_max} bytes`,
          }),
        )
        letGo()
        return
      }
      if (end === -1) {
        if (part.length > 0) partial.push(part)
        partial_bytes += part.length
        return
      }
      const line = partial.length === 0 ? part : Buffer.concat([...partial, part])
      partial = []
      partial_bytes = 0
      start = end + 1
      onLine(line)
    }
  }

  function onLine(line: Buffer): void {
    let text: string
    let value: unknown
    try {
      text = decoder.decode(line).trim()
      if (text === '') return
      value = wireJson(text)
    } catch {
      const error = new TurnbellError('frame_invalid', { detail: 'the line is not JSON in UTF-8' })
      refuse(NO_ID, error, RPC_ERRORS.parse_error)
      return
    }
    const response = isAnswer(value) ? RpcResponse.safeParse(value) : null
    if (response?.success) return onResponse(response.data)
    if (Array.isArray(value) && value.length > 0) return refuseBatch(text, value)
    const id = idOf(text, value)
    const request = RpcRequest.safeParse(withoutAbsent(value))
    if (request.success) return onRequest(request.data, request.data.id === undefined ? undefined : id)
    refuse(id, new TurnbellError('frame_invalid', { detail: 'the line is not a JSON-RPC 2.0 message' }))
  }

  /** The framing is one message a line. Each request of a batch is refused under its own id. */
  function refuseBatch(text: string, values: readonly unknown[]): void {
    const detail = 'a line holds one message, not a batch'
    const ids = values.flatMap((value, at) => (isAnswer(value) ? [] : [idOf(text, value, at)]))
    for (const id of new Set(ids)) refuse(id, new TurnbellError('frame_invalid', { detail }))
  }

  function onRequest({ method, params }: RpcRequest, id: string | undefined): void {
    if (answering >= LIMITS.rpc_in_flight_max) {
      if (id === undefined) return
      const detail = `${LIMITS.rpc_in_flight_max} requests of this connection wait for their answers`
      return refuse(id, new TurnbellError('limit_reached', { detail }))
    }
    const succeed = (result: Json) => {
      if (id !== undefined) answer(id, { result: result ?? null })
    }
    const fail = (error: unknown) => {
      if (id !== undefined) refuse(id, error)
    }
    try {
      const result = handlers.onRequest(method, params ?? {})
      // What is known at once is answered at once, so that answers keep the order of the questions.
      if (!(result instanceof Promise)) return succeed(result)
      answering += 1
      void result.then(succeed, fail).finally(() => (answering -= 1))
    } catch (error) {
      fail(error)
    }
  }

  function onResponse({ id, result, error }: RpcResponse): void {
    const entry = typeof id === 'number' ? waiting.get(id) : undefined
    // An answer to nothing, or one that came after its time-out.
    if (entry === undefined) return
    waiting.delete(id as number)
    entry.timer.cancel()
    if (error === undefined) return entry.resolve(result ?? null)
    const problem = Problem.safeParse(error.data)
    entry.reject(
      problem.success ? fromProblem(problem.data) : new TurnbellError('internal', { detail: error.message }),
    )
  }

  function end(): void {
    if (state === 'closed') return
    state = 'closed'
    for (const { timer, reject } of waiting.values()) {
      timer.cancel()
      reject(new TurnbellError('daemon_unreachable', { detail: 'the connection ended before the answer' }))
    }
    waiting.clear()
    if (!asked) handlers.onClose()
  }

  function letGo(): void {
    if (state !== 'open') return
    state = 'closing'
    stream.end()
    // Destroyed at once, the last answer could be lost on its way; a peer that stays is cut off.
    const grace = clock.after(LIMITS.rpc_close_grace_ms, () => stream.destroy())
    stream.once('close', () => grace.cancel())
  }

  const peer: RpcPeer = {
    request(method, params, timeout_ms) {
      return new Promise((resolve, reject) => {
        if (state !== 'open') {
          reject(new TurnbellError('daemon_unreachable', { detail: 'the connection is closed' }))
          return
        }
        const id = next_id++
        const timer = clock.after(timeout_ms, () => {
          waiting.delete(id)
          reject(new TurnbellError('timed_out', { detail: `${method} had no answer in ${timeout_ms} ms` }))
        })
        waiting.set(id, { resolve, reject, timer })
        sendText(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      })
    },
    close() {
      asked = true
      letGo()
    },
  }
  const handlers = handlersFor(peer)
  stream.on('data', onData)
  // Node reports the reason with `error` and always the end with `close`.
  stream.on('error', () => {})
  stream.on('end', () => stream.end())
  stream.on('close', end)
  return peer
}

const NO_ID = 'null'

/** The id of a message as JSON text, exactly as its sender wrote it; `at` is its place in a batch. */
function idOf(text: string, value: unknown, at?: number): string {
  if (typeof value !== 'object' || value === null) return NO_ID
  const { id } = value as { id?: unknown }
  if (typeof id === 'string' || Number.isSafeInteger(id)) return JSON.stringify(id)
  return typeof id === 'number' ? idSource(text, at) : NO_ID
}

function idSource(text: string, at: number | undefined): string {
  const wanted = JSON.stringify(at === undefined ? ['id'] : [at, 'id'])
  let found = NO_ID
  walkNumbers(text, ({ source, depth, path }) => {
    // Of a name that is there twice the last one counts.
    if (depth <= 2 && JSON.stringify(path()) === wanted) found = source
    return true
  })
  return found
}

/** `params` that are null or an empty list count as absent; a number as id needs only be one. */
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

/** What carries a method is a question, however wrong; an answer has a result or an error. */
function isAnswer(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return !('method' in value) && ('result' in value || 'error' in value)
}
