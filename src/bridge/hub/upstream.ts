/**
 * The bridge's connection to the hub: MCP requests of the stateless revision 2026-07-28, sent as POST.
 *
 * There is no open connection and no session, so a restart of the hub goes unnoticed: a call that finds the
 * hub away waits for it, at most `bridge_wait_ms`. A request that may have reached a hub that then crashed is
 * only repeated if that is harmless.
 */
import * as z from 'zod'
import type { InProcessCall } from '../in-process-calls.ts'
import { createHubAccess, type HubAccess, type HubAccessDeps } from './access.ts'
import {
  AnswerLost,
  notAHub,
  parseHubJson,
  parseProblem,
  parseResult,
  unreachable,
  type Params,
  type Result,
} from './answers.ts'
import { HubUnreachable, hubPost, type HubAnswer, type HubPost } from './post.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { ActivityReceipt, type ActivityReport } from '../../contracts/activity/event.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { TeamView } from '../../contracts/team-view.ts'
import type { Clock } from '../../ports/clock.ts'
import { pause } from '../../ports/pause.ts'

const PROTOCOL = '2026-07-28'
/** Codes with which the hub, or the bridge about the hub, reports that it is unavailable. */
const UNAVAILABLE: ReadonlySet<string> = new Set(['hub_unreachable', 'hub_stopping', 'hub_not_ready'])

export interface UpstreamDeps extends HubAccessDeps {
  /** The agent's current session, for requests that name none. */
  session_id: () => SessionId
  /** The hub in this process, if any; tool calls use it before HTTP. */
  inProcess?: () => InProcessCall | null
  /**
   * Returns an error if the home was removed: calls then fail at once, because no other hub will start in it.
   */
  removedHome?: () => TurnbellError | null
  /** Called while the hub is away: see `HubFallback.onHubMissing`. */
  onHubMissing?: (away_ms: number, reached: boolean) => void
  /** Query of `/mcp` with the bounds and the level of detail. */
  query: string
  version: string
  clock: Clock
}

export interface RequestOptions {
  /** Whether the request may be sent twice. */
  repeatable: boolean
  /**
   * Ends the wait for a hub that is away, and prevents sending. A request already sent is completed, because
   * only its answer contains what the hub did and what a drain returned.
   */
  abort?: AbortSignal
  /** Time to wait for a hub that is away. */
  wait_ms?: number
  /** Time to wait for the answer of a hub that is there. */
  answer_ms?: number
  /** Session of the request, under which leases are held; the current one if absent. */
  session_id?: SessionId | undefined
}

export interface Upstream {
  /**
   * @throws RpcFailure for a protocol error, TurnbellError `hub_unreachable` if no hub came back in time,
   * `answer_too_large`, or a refusal of the hub. An `AnswerLost` is a `hub_unreachable` for a request that
   * the hub may have acted on.
   */
  request(method: string, params: Params, options: RequestOptions): Promise<Result>
  /**
   * Rejects like `request`, or with a refusal if the hub does not know the persona. Asks the hub only if no
   * request has.
   */
  checkPersona(wait_ms: number): Promise<void>
  /** Makes a tool call to the hub in this process. Returns null if this process has no hub, or while that accepts no calls. */
  callInProcess(params: Params, session_id: SessionId): Promise<Result> | null
  /**
   * Opens a `subscriptions/listen` stream; `onMessage` receives the notifications. Resolves when the hub ends
   * it. Does not wait for a hub that is away.
   */
  listen(params: Params, abort: AbortSignal, onMessage: (message: Notified) => void): Promise<void>
  /** Reads the team view of the current session. Tries once, because a later read replaces it. Rejects on failure, with `hub_unreachable` if no hub answered. */
  teamView(answer_ms: number): Promise<TeamView>
  /**
   * Reports activity of the session that the report names. Tries once, because the caller spools what the hub does not take.
   * Rejects on failure, with `hub_unreachable` if no hub answered.
   */
  reportActivity(report: ActivityReport, answer_ms: number): Promise<ActivityReceipt>
  /**
   * Ends the current session at the hub. Does nothing if no request has succeeded before. Tries once, because a process
   * that shuts down does not wait for the hub. Rejects on failure.
   */
  endSession(): Promise<void>
  close(): void
}

const Notified = z.object({
  method: z.string().optional(),
  params: z.looseObject({ uri: z.unknown().optional() }).optional(),
})
type Notified = z.infer<typeof Notified>

export function createUpstream(deps: UpstreamDeps): Upstream {
  const http = hubPost(deps.clock)
  const access = createHubAccess(deps, http)
  let next_id = 1
  let reached = false

  const address = () => `${access.locate()}/mcp${deps.query}`
  const body = (method: string, params: Params) => ({
    jsonrpc: '2.0',
    id: next_id++,
    method,
    params: withEnvelope(params, deps.version),
  })

  function callInProcess(params: Params, session_id: SessionId): Promise<Result> | null {
    const { identity, facets, query } = deps
    if (!access.isPersonaKnown()) return null
    const here = deps.inProcess?.() ?? null
    const answer = here === null ? null : here({ identity, session_id, facets, query }, params)
    if (answer !== null) reached = true
    return answer
  }

  async function attempt(
    method: string,
    params: Params,
    session_id: SessionId,
    { answer_ms = LIMITS.bridge_answer_ms, abort }: Pick<RequestOptions, 'answer_ms' | 'abort'>,
  ): Promise<Result> {
    if (!access.isPersonaKnown()) await access.requirePersona()
    abort?.throwIfAborted()
    const answer = method === 'tools/call' ? callInProcess(params, session_id) : null
    if (answer !== null) return answer
    const headers = headersFor(await access.tokenFor(session_id), method, params)
    // The client may have cancelled in the meantime; a drain that was sent would be released and ring again.
    abort?.throwIfAborted()
    const result = parseResult(await http.post(address(), headers, body(method, params), { answer_ms }))
    reached = true
    return result
  }

  return {
    request(method, params, options) {
      const { session_id = deps.session_id() } = options
      const once = () => attempt(method, params, session_id, options)
      return retryWhileAway(deps, access, once, { ...options, session_id, reached: () => reached })
    },

    checkPersona(wait_ms) {
      const options = { repeatable: true, wait_ms, reached: () => reached }
      return retryWhileAway(deps, access, () => access.requirePersona(), options)
    },

    async listen(params, abort, onMessage) {
      const method = 'subscriptions/listen'
      const session_id = deps.session_id()
      const headers = headersFor(await access.tokenFor(session_id, abort), method, params)
      const refused = await http.stream(address(), headers, body(method, params), abort, (data) => {
        const message = Notified.safeParse(parseHubJson(data))
        if (message.success) onMessage(message.data)
      })
      if (refused === null) return
      access.forgetToken(session_id)
      access.forgetLocation()
      parseResult(refused)
    },

    callInProcess,

    ...sessionRequests(deps, access, http, () => reached),
    close: () => http.close(),
  }
}

/** Requests about a session, each tried once. */
function sessionRequests(
  deps: UpstreamDeps,
  access: HubAccess,
  http: Pick<HubPost, 'get' | 'post'>,
  reached: () => boolean,
): Pick<Upstream, 'teamView' | 'reportActivity' | 'endSession'> {
  async function answered(
    session_id: SessionId,
    ask: (headers: { authorization: string }) => Promise<HubAnswer>,
  ): Promise<unknown> {
    try {
      const answer = await ask({ authorization: `Bearer ${await access.tokenFor(session_id)}` })
      if (answer.status === 401) access.forgetToken(session_id)
      if (answer.status !== 200 && answer.status !== 202) throw parseProblem(answer) ?? notAHub(answer)
      return parseHubJson(answer.body)
    } catch (error) {
      access.forgetLocation()
      throw error instanceof HubUnreachable ? unreachable(error) : error
    }
  }

  return {
    async teamView(answer_ms) {
      const ask = (headers: { authorization: string }) =>
        http.get(`${access.locate()}/team`, headers, { answer_ms })
      return TeamView.parse(await answered(deps.session_id(), ask))
    },

    async reportActivity(report, answer_ms) {
      const ask = (headers: { authorization: string }) =>
        http.post(`${access.locate()}/activity`, headers, report, { answer_ms })
      return ActivityReceipt.parse(await answered(report.session_id, ask))
    },

    async endSession() {
      const session_id = deps.session_id()
      if (!reached()) return
      const authorization = `Bearer ${await access.tokenFor(session_id)}`
      const answer = await http.post(`${access.locate()}/session/end`, { authorization }, {})
      if (answer.status !== 200) throw parseProblem(answer) ?? notAHub(answer)
    },
  }
}

interface RetryOptions extends RequestOptions {
  /** Returns whether the hub has answered any request. */
  reached: () => boolean
}

/** Retries while the hub is away and a repetition is harmless. */
async function retryWhileAway<T>(
  deps: UpstreamDeps,
  access: HubAccess,
  once: () => Promise<T>,
  {
    repeatable,
    abort,
    wait_ms = LIMITS.bridge_wait_ms,
    session_id = deps.session_id(),
    reached,
  }: RetryOptions,
): Promise<T> {
  const { clock } = deps
  const began = clock.monotonic()
  let delay_ms: number = LIMITS.bridge_retry_min_ms
  let renewed = false
  /** Whether the hub may have acted on an earlier attempt. */
  let maybe_acted = false
  for (;;) {
    abort?.throwIfAborted()
    try {
      return await once()
    } catch (error) {
      access.forgetLocation()
      const refused = error instanceof TurnbellError ? error.code : null
      if (!renewed && (refused === 'token_expired' || refused === 'token_invalid')) {
        access.forgetToken(session_id)
        renewed = true
        continue
      }
      const away = error instanceof HubUnreachable || (refused !== null && UNAVAILABLE.has(refused))
      if (!away) throw error
      const away_ms = clock.monotonic() - began
      const removed = deps.removedHome?.() ?? null
      maybe_acted ||= error instanceof HubUnreachable && !error.unsent
      if (maybe_acted && !repeatable) throw new AnswerLost(error, away_ms)
      if (removed !== null) throw maybe_acted ? new AnswerLost(error, away_ms) : removed
      if (away_ms + delay_ms > wait_ms)
        throw maybe_acted ? new AnswerLost(error, away_ms) : unreachable(error)
      deps.onHubMissing?.(away_ms, reached())
      await pause(clock, delay_ms, abort)
      delay_ms = Math.min(delay_ms * 2, LIMITS.bridge_retry_max_ms)
    }
  }
}

function headersFor(bearer: string, method: string, params: Params): Record<string, string> {
  const name = params['name'] ?? params['uri']
  return {
    authorization: `Bearer ${bearer}`,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': PROTOCOL,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
  }
}

/** Adds the caller to each request, because this revision has no handshake. */
function withEnvelope(params: Params, version: string): Params {
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

/** Encodes names that a header cannot carry, with the sentinel of the specification. */
function headerText(name: string): string {
  const plain = /^[\x21-\x7e]+$/.test(name) && !name.startsWith('=?')
  return plain ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}
