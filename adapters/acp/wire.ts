/**
 * JSON-RPC 2.0 over an agent's standard streams, one message a line; both sides ask. What is no message, or of a
 * form that is not known here, is told of in the log and left; but who waits for an answer gets one.
 */
import * as z from 'zod'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { isDeeper } from '../../src/contracts/json.ts'

/** The agent refused, or did not answer; towards the agent: a refusal of ours. */
export class AgentError extends Error {
  readonly code: number | null

  /** `code` is JSON-RPC's; null where there was no answer at all, or none that can be read. */
  constructor(code: number | null, message: string) {
    super(message)
    this.code = code
  }
}

/** The agent ended, or closed its output. */
export class AgentGoneError extends Error {}

/** JSON-RPC 2.0, section 5.1. */
const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602

/** The agent's standard streams, a message a line. */
export interface AgentPipe {
  write(line: string): void
  /** To be called once, before the first line comes. */
  read(taker: { onLine: (line: string) => void; onEnd: () => void }): void
}

export interface Wire {
  /** Waits for ever without a time. @throws AgentError, AgentGoneError */
  ask<T>(method: string, params: object, answer: z.ZodType<T>, timeout_ms: number | null): Promise<T>
}

export interface WireHandlers {
  onNotification: (method: string, params: unknown) => void
  /** Answers at once. An AgentError that is thrown is the refusal. */
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

/** What is left of a message in another form: enough to tell whom it concerns. */
const OddMessage = z.looseObject({ id: z.union([z.number(), z.string()]), method: z.unknown().optional() })

export function openWire(
  pipe: AgentPipe,
  { clock, log }: { clock: Pick<Clock, 'after'>; log: Log },
  handlers: WireHandlers,
): Wire {
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let next_id = 1
  let strange = 0
  let gone = false
  const send = (message: object) => pipe.write(JSON.stringify({ jsonrpc: '2.0', ...message }))

  function request(method: string, params: object, timeout_ms: number | null): Promise<unknown> {
    if (gone) return Promise.reject(new AgentGoneError(`${method} was not asked: the agent is gone`))
    const id = next_id++
    return new Promise((resolve, reject) => {
      const late = () =>
        waiting.get(id)?.reject(new AgentError(null, `${method} was not answered in ${timeout_ms} ms`))
      const timeout = timeout_ms === null ? null : clock.after(timeout_ms, late)
      const settle =
        <A>(then: (value: A) => void) =>
        (value: A) => {
          timeout?.cancel()
          waiting.delete(id)
          then(value)
        }
      waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      send({ id, method, params })
    })
  }

  function received({ id, method, params, result, error }: Message): void {
    if (method != null) {
      if (id === undefined) handlers.onNotification(method, params)
      else send({ id, ...answerTo(method, params) })
      return
    }
    const asked = typeof id === 'number' ? waiting.get(id) : undefined
    if (error == null) return asked?.resolve(result)
    const more = error.data === undefined ? '' : `: ${beginningOf(JSON.stringify(error.data))}`
    asked?.reject(new AgentError(error.code, `${beginningOf(error.message)}${more}`))
  }

  /** A turn that waits for this answer would be taken to run for ever; an agent that asks may wait as long. */
  function settleOdd(line: string, { id, method }: z.infer<typeof OddMessage>): void {
    if (method != null) return send({ id, error: { code: INVALID_REQUEST, message: 'Invalid request' } })
    if (typeof id !== 'number') return
    waiting.get(id)?.reject(new AgentError(null, `it was answered in another form: ${beginningOf(line)}`))
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
      const value = jsonOf(line)
      // A schema that goes down into something this deep would end this process.
      const message = isDeeper(value, LIMITS.wire_depth_max) ? null : Message.safeParse(value).data
      if (message != null && ('id' in message || 'method' in message)) return received(message)
      const odd = OddMessage.safeParse(value)
      if (odd.success) settleOdd(line, odd.data)
      // Some print a word of welcome; a program that is no agent prints for ever.
      strange += 1
      if (strange > LIMITS.acp_strange_lines_max) return
      log.warn({ line: beginningOf(line) }, 'the agent wrote what is no message of the protocol')
    },
    onEnd() {
      gone = true
      for (const { reject } of waiting.values()) reject(new AgentGoneError('the agent went away'))
    },
  })

  return {
    async ask(method, params, answer, timeout_ms) {
      const answered = answer.safeParse(await request(method, params, timeout_ms))
      if (answered.success) return answered.data
      throw new AgentError(null, `${method} was answered in another form: ${answered.error.message}`)
    },
  }
}

/** Null where it is none. */
function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function beginningOf(text: string): string {
  return text.slice(0, LIMITS.acp_error_length_max)
}
