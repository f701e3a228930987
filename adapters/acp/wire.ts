/**
 * JSON-RPC 2.0 over an agent's standard streams, one message per line, with requests in both directions. Invalid
 * messages are logged and ignored, except that a caller waiting for an answer always gets one.
 */
import * as z from 'zod'
import { pendingRequests } from '../pending-requests.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { isDeeper } from '../../src/contracts/validation/json.ts'

/** An error answer or a missing answer of the agent; thrown by `onRequest`, an error answer to the agent. */
export class AgentError extends Error {
  readonly code: number | null
  readonly data: unknown

  /** `code` is the JSON-RPC code; null if there was no answer or an unreadable one. */
  constructor(code: number | null, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The agent exited or closed its output. */
export class AgentGoneError extends Error {}

/** JSON-RPC 2.0, section 5.1. */
const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602

/** The agent's standard streams, one message per line. */
export interface AgentPipe {
  write(line: string): void
  /** Call it once, before the first line arrives. */
  read(taker: { onLine: (line: string) => void; onEnd: () => void }): void
}

export interface Wire {
  /** Sends a request. Waits without limit if `timeout_ms` is null. @throws AgentError, AgentGoneError */
  call<T>(method: string, params: object, answer: z.ZodType<T>, timeout_ms: number | null): Promise<T>
}

export interface WireHandlers {
  onNotification: (method: string, params: unknown) => void
  /** Returns the answer to a request. A thrown AgentError becomes an error answer. */
  onRequest: (method: string, params: unknown) => object
}

const Message = z.looseObject({
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  method: z.string().nullish(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() }).nullish(),
})
type Message = z.infer<typeof Message>

/** The readable part of an invalid message: enough to find its request. */
const PartialMessage = z.looseObject({
  id: z.union([z.number(), z.string()]),
  method: z.unknown().optional(),
})

export function openWire(
  pipe: AgentPipe,
  { clock, log }: { clock: Pick<Clock, 'after'>; log: Log },
  handlers: WireHandlers,
): Wire {
  const pending = pendingRequests(clock)
  let invalid_lines = 0
  let gone = false
  const send = (message: object) => pipe.write(JSON.stringify({ jsonrpc: '2.0', ...message }))

  function request(method: string, params: object, timeout_ms: number | null): Promise<unknown> {
    if (gone) return Promise.reject(new AgentGoneError(`${method} was not sent: the agent has exited`))
    const timedOut = () => new AgentError(null, `${method} timed out after ${timeout_ms} ms`)
    return pending.send((id) => send({ id, method, params }), { timeout_ms, timedOut })
  }

  function handleMessage({ id, method, params, result, error }: Message): void {
    if (method != null) {
      if (id === undefined) handlers.onNotification(method, params)
      else send({ id, ...answerTo(method, params) })
      return
    }
    if (error == null) return pending.resolve(id, result)
    const data = error.data === undefined ? '' : `: ${truncate(JSON.stringify(error.data))}`
    pending.reject(id, new AgentError(error.code, `${truncate(error.message)}${data}`, error.data))
  }

  /** Settles the request of an invalid message. Otherwise its turn, or the agent, would wait for an answer without end. */
  function settleInvalid(line: string, { id, method }: z.infer<typeof PartialMessage>): void {
    if (method != null) return send({ id, error: { code: INVALID_REQUEST, message: 'Invalid request' } })
    pending.reject(id, new AgentError(null, `the answer has an unknown format: ${truncate(line)}`))
  }

  function answerTo(method: string, params: unknown): object {
    try {
      return { result: handlers.onRequest(method, params) }
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      return { error: { code: error.code, message: error.message } }
    }
  }

  pipe.read({
    onLine(line) {
      const value = parseJson(line)
      // Otherwise a schema that recurses into a deeply nested value would overflow the stack.
      const message = isDeeper(value, LIMITS.wire_depth_max) ? null : Message.safeParse(value).data
      if (message != null && ('id' in message || 'method' in message)) return handleMessage(message)
      const partial = PartialMessage.safeParse(value)
      if (partial.success) settleInvalid(line, partial.data)
      // Some agents print a greeting; a program that is not an agent may print without end.
      invalid_lines += 1
      if (invalid_lines > LIMITS.acp_invalid_lines_max) return
      log.warn({ line: truncate(line) }, 'invalid message from the agent ignored')
    },
    onEnd() {
      gone = true
      pending.rejectAll(() => new AgentGoneError('the agent has exited'))
    },
  })

  return {
    async call(method, params, answer, timeout_ms) {
      const parsed = answer.safeParse(await request(method, params, timeout_ms))
      if (parsed.success) return parsed.data
      throw new AgentError(null, `${method} was answered in an unknown format: ${parsed.error.message}`)
    },
  }
}

/** Returns the parsed line; null if it is not JSON. */
function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function truncate(text: string): string {
  return text.slice(0, LIMITS.acp_error_length_max)
}
