/** Parses what the hub answers to the bridge, and defines the errors of a request to it. */
import * as z from 'zod'
import { lastData } from './event-stream.ts'
import { HubUnreachable, type HubAnswer } from './post.ts'
import { fromProblem, Problem, TurnbellError } from '../../contracts/errors/errors.ts'
import { parseJsonAs, wireJson } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { TokenAnswer } from '../../contracts/token.ts'

export type Params = Record<string, unknown>
export type Result = Record<string, unknown>

const RpcAnswer = z.object({
  result: z.record(z.string(), z.unknown()).optional(),
  // An error without an integer code cannot be read by clients.
  error: z.object({ code: z.number().int(), message: z.string(), data: z.unknown().optional() }).optional(),
})

/** A JSON-RPC error of the hub, which is passed on unchanged. */
export class RpcFailure extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function parseResult(answer: HubAnswer): Result {
  const parsed = RpcAnswer.safeParse(bodyOf(answer))
  if (parsed.success && parsed.data.result !== undefined) return parsed.data.result
  if (parsed.success && parsed.data.error !== undefined) {
    const { code, message, data } = parsed.data.error
    throw new RpcFailure(code, message, data)
  }
  throw parseProblem(answer) ?? new HubUnreachable(false, notAHub(answer))
}

/** Throws `hub_unreachable` if the answer is not a hub's: another program may use its port. */
export function parseToken(answer: HubAnswer): TokenAnswer {
  const token = answer.status === 200 ? parseJsonAs(TokenAnswer, answer.body) : null
  if (token !== null) return token
  throw (
    parseProblem(answer) ??
    new TurnbellError('hub_unreachable', {
      detail: `the server answered ${answer.status} to /auth/token without a valid token`,
    })
  )
}

/** The last message of an event stream is the answer; earlier ones are progress notifications. */
function bodyOf({ content_type, body }: HubAnswer): unknown {
  return parseHubJson(content_type.includes('text/event-stream') ? (lastData(body) ?? '') : body)
}

/** Returns null for invalid JSON. The depth limit allows for the envelope around what the hub accepted. */
export function parseHubJson(text: string): unknown {
  try {
    return wireJson(text, LIMITS.answer_depth_max)
  } catch {
    return null
  }
}

export function parseProblem(answer: HubAnswer): TurnbellError | null {
  const problem = Problem.safeParse(bodyOf(answer))
  return problem.success ? fromProblem(problem.data) : null
}

/** The error for an answer that is not a hub's. A hub behind a proxy may still have acted. */
export function notAHub({ status, body }: HubAnswer): Error {
  return new Error(`the server answered ${status}, but not as a hub: ${body.slice(0, 200)}`)
}

/** The error for a request that was not carried out, because no hub answers. */
export function unreachable(cause: unknown): TurnbellError {
  // The hub is there and its error contains the next step.
  if (cause instanceof TurnbellError && cause.code === 'hub_not_ready') return cause
  return new TurnbellError('hub_unreachable', {
    detail: `No hub answered: ${reasonOf(cause)}.`,
    hint: 'The call was not carried out. Start the hub with `turnbell hub` or `turnbell up`, then call again.',
    cause,
  })
}

function reasonOf(cause: unknown): string {
  if (cause instanceof TurnbellError) return cause.detail
  return cause instanceof Error ? cause.message : String(cause)
}

export class AnswerLost extends TurnbellError {
  /** Time waited for the answer. */
  readonly waited_ms: number

  /** Own check, because the one inherited from TurnbellError accepts every TurnbellError. */
  static override [Symbol.hasInstance](value: unknown): value is AnswerLost {
    return Object.prototype.isPrototypeOf.call(AnswerLost.prototype, value as object)
  }

  constructor(cause: unknown, waited_ms = 0) {
    super('hub_unreachable', {
      detail: `The hub disconnected before it answered: ${reasonOf(cause)}.`,
      hint: 'The call may or may not have been carried out. Check before you call again.',
      cause,
    })
    this.waited_ms = waited_ms
  }
}
