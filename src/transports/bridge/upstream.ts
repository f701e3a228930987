/**
 * The hub as the bridge calls it: MCP requests of the stateless revision 2026-07-28 by plain POST.
 *
 * Nothing is kept open and no session is made, so a hub that was restarted is noticed by nobody: a call
 * that finds it away waits for it, at most `bridge_wait_ms`. What may have reached a hub that then died
 * is only said again where saying it twice is harmless.
 */
import * as z from 'zod'
import type { CallHere } from './calls-here.ts'
import { lastData } from './event-reader.ts'
import { HubAway, hubPost, type HubAnswer } from './hub-post.ts'
import { fromProblem, Problem, TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { jsonAs, wireJson } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { TokenAnswer } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import { pause } from '../../ports/pause.ts'

const PROTOCOL = '2026-07-28'
/** How long a hub is taken to be where it was found. Short: another program may get its port. */
const LOCATED_MS = 250

/** Threads of one client have a token each; few of them call in the same hour. */
export const TOKENS_KEPT_MAX = 16

/** What is said, by the hub or about it, while it is not there to answer. */
const AWAY: ReadonlySet<string> = new Set(['hub_unreachable', 'hub_stopping', 'hub_not_ready'])

export interface UpstreamDeps {
  identity: Identity
  /** The agent's session as its client names it now, for what does not say in which it is asked. */
  session_id: () => SessionId
  /** What the persona's client may use, where it is not what the hub offers to everybody. */
  facets?: readonly string[]
  /**
   * Where the hub is now; throws `hub_unreachable` while none runs. Asked again after every failure: a restarted hub
   * may have another port.
   */
  locate: () => string
  /** Null while the home has none: then no hub ever ran in it. */
  operatorToken: () => string | null
  /** The hub in this very process, while there is one: asked for tool calls before any door. */
  here?: () => CallHere | null
  /**
   * Refuses a persona that the hub does not know, with the hub's refusal and its hint for the reader. Without it the first
   * call makes the persona.
   */
  unknownPersona?: ((refused: TurnbellError) => TurnbellError) | undefined
  /** Refuses calls without waiting while the home of the hub is removed: no other hub comes up in it. */
  removedHome?: () => TurnbellError | null
  /** A hub is missed: see `StandIn.missed`. */
  missed?: (away_ms: number, reached: boolean) => void
  /** Added to the address of `/mcp`: how much of the hub is shown. */
  query: string
  version: string
  clock: Clock
}

export type Params = Record<string, unknown>
export type Result = Record<string, unknown>

/** A JSON-RPC error of the hub, to be passed on as it is. */
export class RpcFailure extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export interface RequestOptions {
  /** Saying it twice does no harm. */
  repeatable: boolean
  /**
   * Ends the waiting for a hub that is away. A request that is under way is carried through: only its answer
   * tells what the hub did, and what a drain handed over.
   */
  abort?: AbortSignal
  /** How long to wait for a hub that is away. */
  wait_ms?: number
  /** How long to wait for the answer of one that is there. */
  answer_ms?: number
  /** In which session it is asked; leases are held under it. The present one where it is left out. */
  session_id?: SessionId | undefined
}

export interface Upstream {
  /**
   * @throws RpcFailure for an error of the protocol, TurnbellError `hub_unreachable` when no hub came
   * back in time, `answer_too_large`, or one of the hub's own refusals. An `AnswerLost` is a `hub_unreachable` that the
   * hub may have acted on.
   */
  request(method: string, params: Params, options: RequestOptions): Promise<Result>
  /** Rejects as `request` does, with a refusal where the hub does not know the persona. Asks it only where nothing has. */
  checkPersona(wait_ms: number): Promise<void>
  /** A tool call that the hub in this very process answers; null where there is none, or it takes none now. */
  callHere(params: Params, session_id: SessionId): Promise<Result> | null
  /**
   * Opens a `subscriptions/listen` stream: `onMessage` gets what the hub notifies of. Resolves when the hub
   * ends it; never waits for a hub that is away.
   */
  listen(params: Params, abort: AbortSignal, onMessage: (message: Notified) => void): Promise<void>
  /**
   * Tells the hub that the present session is over, if it ever heard of it. Tries once: who leaves does not wait
   * for a hub that is away. Rejects when it could not be told.
   */
  endSession(): Promise<void>
  close(): void
}

const Notified = z.object({
  method: z.string().optional(),
  params: z.looseObject({ uri: z.unknown().optional() }).optional(),
})
type Notified = z.infer<typeof Notified>

const RpcAnswer = z.object({
  result: z.record(z.string(), z.unknown()).optional(),
  // No client reads an error of another code.
  error: z.object({ code: z.number().int(), message: z.string(), data: z.unknown().optional() }).optional(),
})

export function createUpstream(deps: UpstreamDeps): Upstream {
  const { clock } = deps
  const http = hubPost(clock)
  /** The one that was asked for last stands last. */
  const tokens = new Map<SessionId, { text: string; renew_at: number }>()
  let next_id = 1
  let reached = false
  let located: { url: string; at: number } | null = null

  const operatorToken = (): string => {
    const operator = deps.operatorToken()
    if (operator !== null) return operator
    throw new HubAway(true, new Error('this home has no operator token: no hub ever ran in it'))
  }

  /** Not asked again once the hub knows the persona; the call of an agent would make one of a mistyped name. */
  let persona_known = deps.unknownPersona === undefined
  async function requirePersona(abort?: AbortSignal): Promise<void> {
    if (persona_known) return
    const asked = { tool: 'personas', action: 'get', params: { identity: deps.identity } }
    const authorization = `Bearer ${operatorToken()}`
    const answer = await http
      .post(`${locate()}/call`, { authorization }, asked, { abort })
      .catch((error: unknown) => {
        // Nothing was asked for that the hub could have done.
        throw error instanceof HubAway ? new HubAway(true, error) : error
      })
    if (answer.status !== 200) {
      const refused = problemIn(answer) ?? new HubAway(true, foreign(answer))
      if (refused instanceof TurnbellError && refused.code === 'target_unknown')
        throw deps.unknownPersona?.(refused) ?? refused
      throw refused
    }
    persona_known = true
  }

  async function tokenFor(session_id: SessionId, abort?: AbortSignal): Promise<string> {
    const kept = tokens.get(session_id)
    if (kept !== undefined && clock.monotonic() < kept.renew_at) return kept.text
    await requirePersona(abort)
    const operator = operatorToken()
    const asked_at = clock.monotonic()
    const asking = http.post(
      `${locate()}/auth/token`,
      { authorization: `Bearer ${operator}` },
      { identity: deps.identity, kind: 'agent', session_id, facets: deps.facets },
      { abort },
    )
    const answer = await asking.catch((error: unknown) => {
      // What the token is for has not been said by then, however far this came.
      throw error instanceof HubAway ? new HubAway(true, error) : error
    })
    const { token: text, expires_in } = tokenIn(answer)
    tokens.delete(session_id)
    tokens.set(session_id, {
      text,
      renew_at: asked_at + expires_in * 1000 * LIMITS.token_renew_ratio,
    })
    const oldest = tokens.keys().next().value
    if (tokens.size > TOKENS_KEPT_MAX && oldest !== undefined) tokens.delete(oldest)
    return text
  }

  async function headersFor(
    method: string,
    params: Params,
    session_id: SessionId,
    abort?: AbortSignal,
  ): Promise<Record<string, string>> {
    const bearer = await tokenFor(session_id, abort)
    const name = params['name'] ?? params['uri']
    return {
      authorization: `Bearer ${bearer}`,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
    }
  }

  /** Looking for it costs as much as asking it; so calls that come together look once. */
  const locate = () => {
    const now = clock.monotonic()
    if (located === null || now - located.at >= LOCATED_MS) located = { url: deps.locate(), at: now }
    return located.url
  }
  const address = () => `${locate()}/mcp${deps.query}`
  const body = (method: string, params: Params) => ({
    jsonrpc: '2.0',
    id: next_id++,
    method,
    params: enveloped(params, deps.version),
  })

  function callHere(params: Params, session_id: SessionId): Promise<Result> | null {
    const { identity, facets, query } = deps
    if (!persona_known) return null
    const here = deps.here?.() ?? null
    const answer = here === null ? null : here({ identity, session_id, facets, query }, params)
    if (answer !== null) reached = true
    return answer
  }

  async function attempt(
    method: string,
    params: Params,
    session_id: SessionId,
    answer_ms: number,
  ): Promise<Result> {
    if (!persona_known) await requirePersona()
    const answer = method === 'tools/call' ? callHere(params, session_id) : null
    if (answer !== null) return answer
    const headers = await headersFor(method, params, session_id)
    return resultIn(await http.post(address(), headers, body(method, params), { answer_ms }))
  }

  /** Tries again for as long as the hub is away and nothing is lost by it. */
  async function untilAnswered<T>(once: () => Promise<T>, options: RequestOptions): Promise<T> {
    const { repeatable, abort, wait_ms = LIMITS.bridge_wait_ms, session_id = deps.session_id() } = options
    const began = clock.monotonic()
    let delay_ms: number = LIMITS.bridge_retry_min_ms
    let renewed = false
    /** The hub may have acted on what it was told before. */
    let told = false
    for (;;) {
      abort?.throwIfAborted()
      try {
        return await once()
      } catch (error) {
        located = null
        const refused = error instanceof TurnbellError ? error.code : null
        if (!renewed && (refused === 'token_expired' || refused === 'token_invalid')) {
          tokens.delete(session_id)
          renewed = true
          continue
        }
        const away = error instanceof HubAway || (refused !== null && AWAY.has(refused))
        if (!away) throw error
        const away_ms = clock.monotonic() - began
        const removed = deps.removedHome?.() ?? null
        told ||= error instanceof HubAway && !error.unsent
        if (told && !repeatable) throw new AnswerLost(error, away_ms)
        if (removed !== null) throw told ? new AnswerLost(error, away_ms) : removed
        if (away_ms + delay_ms > wait_ms) throw told ? new AnswerLost(error, away_ms) : unreachable(error)
        deps.missed?.(away_ms, reached)
        await pause(clock, delay_ms, abort)
        delay_ms = Math.min(delay_ms * 2, LIMITS.bridge_retry_max_ms)
      }
    }
  }

  return {
    request(method, params, options) {
      const { session_id = deps.session_id(), answer_ms = LIMITS.bridge_answer_ms } = options
      const once = async () => {
        const result = await attempt(method, params, session_id, answer_ms)
        reached = true
        return result
      }
      return untilAnswered(once, { ...options, session_id })
    },

    checkPersona: (wait_ms) => untilAnswered(() => requirePersona(), { repeatable: true, wait_ms }),

    async listen(params, abort, onMessage) {
      const method = 'subscriptions/listen'
      const session_id = deps.session_id()
      const headers = await headersFor(method, params, session_id, abort)
      const refused = await http.stream(address(), headers, body(method, params), abort, (data) => {
        const message = Notified.safeParse(jsonOfHub(data))
        if (message.success) onMessage(message.data)
      })
      if (refused === null) return
      tokens.delete(session_id)
      located = null
      resultIn(refused)
    },

    callHere,

    async endSession() {
      const session_id = deps.session_id()
      if (!reached) return
      const authorization = `Bearer ${await tokenFor(session_id)}`
      const answer = await http.post(`${locate()}/session/end`, { authorization }, {})
      if (answer.status !== 200) throw problemIn(answer) ?? foreign(answer)
    },

    close: () => http.close(),
  }
}

/** Every request of this revision says who asks; there is no handshake to remember it from. */
function enveloped(params: Params, version: string): Params {
  const meta = (params['_meta'] ?? {}) as Record<string, unknown>
  return {
    ...params,
    _meta: {
      ...meta,
      'io.modelcontextprotocol/protocolVersion': PROTOCOL,
      'io.modelcontextprotocol/clientInfo': { name: 'turnbell-bridge', version },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
}

/** The specification's sentinel for names that no header can carry. */
function headerText(name: string): string {
  const plain = /^[\x21-\x7e]+$/.test(name) && !name.startsWith('=?')
  return plain ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}

function resultIn(answer: HubAnswer): Result {
  const parsed = RpcAnswer.safeParse(bodyOf(answer))
  if (parsed.success && parsed.data.result !== undefined) return parsed.data.result
  if (parsed.success && parsed.data.error !== undefined) {
    const { code, message, data } = parsed.data.error
    throw new RpcFailure(code, message, data)
  }
  throw problemIn(answer) ?? new HubAway(false, foreign(answer))
}

/** Throws `hub_unreachable` where it is no hub that answers: another program may have its port. */
function tokenIn(answer: HubAnswer): TokenAnswer {
  const told = answer.status === 200 ? jsonAs(TokenAnswer, answer.body) : null
  if (told !== null) return told
  throw (
    problemIn(answer) ??
    new TurnbellError('hub_unreachable', {
      detail: `what listens there answered ${answer.status} to /auth/token, and no token that can be shown`,
    })
  )
}

/** The last message of an event stream is the answer; what came before it was progress. */
function bodyOf({ content_type, body }: HubAnswer): unknown {
  return jsonOfHub(content_type.includes('text/event-stream') ? (lastData(body) ?? '') : body)
}

/** Null where it is none. What the hub has let in it also tells, with all that stands around it. */
function jsonOfHub(text: string): unknown {
  try {
    return wireJson(text, LIMITS.answer_depth_max)
  } catch {
    return null
  }
}

function problemIn(answer: HubAnswer): TurnbellError | null {
  const problem = Problem.safeParse(bodyOf(answer))
  return problem.success ? fromProblem(problem.data) : null
}

/** Another program has the hub's port, or stands between: then a hub may have acted. */
function foreign({ status, body }: HubAnswer): Error {
  return new Error(`what listens there answered ${status}, and not as a hub does: ${body.slice(0, 200)}`)
}

/** For what was not done, because no hub answers or what answers is none. */
export function unreachable(cause: unknown): TurnbellError {
  // It is there, and says itself what to do.
  if (cause instanceof TurnbellError && cause.code === 'hub_not_ready') return cause
  return new TurnbellError('hub_unreachable', {
    detail: `No hub answered: ${reasonOf(cause)}.`,
    hint: 'Nothing was lost and nothing was done. Start the hub with `turnbell hub` or `turnbell up`, then call again.',
    cause,
  })
}

function reasonOf(cause: unknown): string {
  if (cause instanceof TurnbellError) return cause.detail
  return cause instanceof Error ? cause.message : String(cause)
}

export class AnswerLost extends TurnbellError {
  /** How long it was waited for. */
  readonly waited_ms: number

  /** Its own: that of every refusal, which a class inherits, takes any refusal for a lost answer. */
  static override [Symbol.hasInstance](value: unknown): value is AnswerLost {
    return Object.prototype.isPrototypeOf.call(AnswerLost.prototype, value as object)
  }

  constructor(cause: unknown, waited_ms = 0) {
    super('hub_unreachable', {
      detail: `The hub went away before it answered: ${reasonOf(cause)}.`,
      hint: 'It may or may not have acted. Look before you call again.',
      cause,
    })
    this.waited_ms = waited_ms
  }
}
