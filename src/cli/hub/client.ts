/** Client of the hub over HTTP. Refusals are thrown as `TurnbellError`. */
import type { z } from 'zod'
import { ActivityReceipt, type ActivityReport } from '../../contracts/activity/event.ts'
import { fromProblem, Problem, TurnbellError } from '../../contracts/errors/errors.ts'
import { CallAnswer, EventsPage, Health } from '../../contracts/http.ts'
import { Json, type RegistrationKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { TokenAnswer } from '../../contracts/token.ts'

export interface HubClient {
  url: string
  /**
   * Calls any action, for the project that `scope` names. Throws the hub's error with its code. `timeout_ms` is for
   * actions that take longer than `LIMITS.hub_answer_ms`, and at most `LIMITS.hub_answer_ms_max`.
   */
  call(
    facade: string,
    action: string,
    params?: unknown,
    scope?: string,
    timeout_ms?: number,
  ): Promise<unknown>
  /** Calls an action and parses its answer. */
  ask<T extends z.ZodType>(
    facade: string,
    action: string,
    params: unknown,
    answer: T,
    scope?: string,
    timeout_ms?: number,
  ): Promise<z.output<T>>
  /** Returns a client of the same hub with a token of a persona. */
  as(identity: string, kind: RegistrationKind, session_id?: string): Promise<HubClient>
  health(timeout_ms?: number): Promise<Health>
  /** Returns true if `/ready` returns 200. An unreachable hub is not ready. */
  ready(): Promise<boolean>
  /** Returns null if `/ready` returns 200. Otherwise returns its refusal, or the error of the request. */
  whyNotReady(timeout_ms: number): Promise<TurnbellError | null>
  /** Sends a hook event with the client's payload. Returns the answer for the client. */
  hook(client: string, payload: Record<string, Json>): Promise<Json>
  /** Reports what an agent did. With `dropped` in the receipt, nothing was stored. */
  reportActivity(report: ActivityReport): Promise<ActivityReceipt>
  /** Returns a page of events. `since` is a position in the stream or a time. */
  events(query: {
    since?: number | string
    type?: string
    limit?: number
  }): Promise<z.output<typeof EventsPage>>
}

/**
 * Throws `hub_unreachable` if nothing answers or another program does, `timed_out` after `LIMITS.hub_answer_ms` or the
 * timeout of the call, and the hub's own refusals.
 */
export function createHubClient(fetcher: typeof fetch, url: string, token: string | null): HubClient {
  const request = (path: string, body?: unknown, more: Partial<More> = {}) =>
    exchange(fetcher, url, token, path, body, { headers: {}, timeout_ms: LIMITS.hub_answer_ms, ...more })
  const client: HubClient = {
    url,
    async call(facade, action, params = {}, scope, timeout_ms = LIMITS.hub_answer_ms) {
      const headers = scope === undefined ? {} : { 'x-scope': headerOf(scope) }
      const answer = await request('/call', { tool: facade, action, params }, { headers, timeout_ms })
      return parse(url, CallAnswer, answer).result
    },
    ask: async (facade, action, params, answer, scope, timeout_ms) =>
      parse(url, answer, await client.call(facade, action, params, scope, timeout_ms)),
    as: async (identity, kind, session_id) => {
      const body = { identity, kind, ...(session_id === undefined ? {} : { session_id }) }
      const answer = parse(url, TokenAnswer, await request('/auth/token', body))
      return createHubClient(fetcher, url, answer.token)
    },
    health: async (timeout_ms = LIMITS.hub_answer_ms) =>
      parse(url, Health, await request('/health', undefined, { timeout_ms })),
    ready: async () => (await client.whyNotReady(LIMITS.hub_answer_ms)) === null,
    whyNotReady: async (timeout_ms) => {
      try {
        await request('/ready', undefined, { timeout_ms })
        return null
      } catch (error) {
        if (error instanceof TurnbellError) return error
        throw error
      }
    },
    hook: async (name, payload) =>
      parse(url, Json, await request(`/hook/${encodeURIComponent(name)}`, payload)),
    reportActivity: async (report) => parse(url, ActivityReceipt, await request('/activity', report)),
    events: async (query) => {
      const parameters = new URLSearchParams()
      for (const [name, value] of Object.entries(query)) parameters.set(name, String(value))
      return parse(url, EventsPage, await request(`/events?${parameters.toString()}`))
    },
  }
  return client
}

interface More {
  headers: Record<string, string>
  timeout_ms: number
}

async function exchange(
  fetcher: typeof fetch,
  url: string,
  token: string | null,
  path: string,
  body: unknown,
  { headers, timeout_ms }: More,
): Promise<unknown> {
  let response: Response
  let text: string
  try {
    response = await fetcher(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeout_ms),
    })
    text = await response.text()
  } catch (cause) {
    throw unreachable(url, cause, timeout_ms)
  }
  const value = parseJson(text)
  if (response.ok && value !== undefined) return value
  const problem = Problem.safeParse(value)
  if (problem.success) throw forOperator(fromProblem(problem.data), url)
  throw new TurnbellError('hub_unreachable', {
    detail: `${url} is not a turnbell hub: its answer is HTTP ${response.status} without a problem document.`,
    hint: 'Set hub.port or hub.url in the configuration to an address that no other program uses.',
  })
}

/** The error with a hint for the operator, who has no one else to request a token from. */
function forOperator(error: TurnbellError, url: string): TurnbellError {
  if (error.code !== 'token_invalid') return error
  return new TurnbellError('token_invalid', {
    detail: `${url} does not accept the operator token of this home: ${error.detail}`,
    hint: 'Run `turnbell doctor` to see which hub this home has: this one belongs to another home, or the token changed while it ran.',
    cause: error,
  })
}

/** Encodes the text for a header as the bytes of its UTF-8 form, as curl does. */
function headerOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function unreachable(url: string, cause: unknown, timeout_ms: number): TurnbellError {
  // No request was made, so there is no address to name.
  if (cause instanceof TurnbellError) return cause
  if (cause instanceof Error && cause.name === 'TimeoutError') {
    return new TurnbellError('timed_out', {
      detail: `${url} did not answer within ${timeout_ms} ms.`,
      hint: 'Check whether the request took effect before you repeat it.',
      cause,
    })
  }
  return new TurnbellError('hub_unreachable', { detail: `${url}: ${reasonOf(cause)}`, cause })
}

/** Returns true if the request may have taken effect: the hub was reached and only its answer is missing. */
export function mayBeDone(error: unknown): boolean {
  if (!(error instanceof TurnbellError)) return false
  if (error.code === 'timed_out') return true
  return error.code === 'hub_unreachable' && error.cause !== undefined && !isNobodyThere(error.cause)
}

const NOBODY_THERE = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

function isNobodyThere(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (code !== undefined && NOBODY_THERE.includes(code)) return true
  return error instanceof AggregateError ? error.errors.every(isNobodyThere) : isNobodyThere(error.cause)
}

/** Returns the innermost cause, because the message of fetch is only `fetch failed`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = (error as NodeJS.ErrnoException).code
  if (error.cause !== undefined) return reasonOf(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return code === 'ECONNREFUSED' ? 'connection refused' : error.message || (code ?? error.name)
}

function parse<T extends z.ZodType>(url: string, schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new TurnbellError('hub_unreachable', {
    detail: `${url} returned an answer that this version of turnbell does not understand.`,
    hint: 'Restart the hub with the installed version of turnbell.',
    cause: parsed.error,
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
