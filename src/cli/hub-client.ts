/** The hub as a command sees it: calls over HTTP, refusals as `TurnbellError`. */
import type { z } from 'zod'
import { fromProblem, Problem, TurnbellError } from '../contracts/errors.ts'
import { CallAnswer, EventsPage, Health } from '../contracts/http.ts'
import { Json, type RegistrationKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import { TokenAnswer } from '../contracts/token.ts'

export interface HubClient {
  url: string
  /**
   * Any action of the kernel, about the project that `scope` names. Refusals come as the error they were at the hub.
   * `patience_ms` is for what may take longer than `LIMITS.hub_answer_ms`, at most `LIMITS.hub_answer_ms_max`.
   */
  call(
    facade: string,
    action: string,
    params?: unknown,
    scope?: string,
    patience_ms?: number,
  ): Promise<unknown>
  /** As `call`, with an answer held to the form it must have. */
  ask<T extends z.ZodType>(
    facade: string,
    action: string,
    params: unknown,
    answer: T,
    scope?: string,
  ): Promise<z.output<T>>
  /** The same hub, called as a persona. */
  as(identity: string, kind: RegistrationKind, session_id?: string): Promise<HubClient>
  health(): Promise<Health>
  /** Whether `/ready` says 200. A hub that cannot be reached is not ready. */
  ready(): Promise<boolean>
  /** A client's hook event, with the client's own words. Answers what the client is to be told. */
  hook(client: string, payload: Record<string, Json>): Promise<Json>
  /** `since` is a position in the stream or a time. */
  events(query: {
    since?: number | string
    type?: string
    limit?: number
  }): Promise<z.output<typeof EventsPage>>
}

/**
 * @throws `hub_unreachable` when nobody answers, or somebody who is no hub; `timed_out` when the answer
 * takes longer than `LIMITS.hub_answer_ms`, or as long as the call is given; whatever the hub refuses with otherwise.
 */
export function createHubClient(fetcher: typeof fetch, url: string, token: string | null): HubClient {
  const request = (path: string, body?: unknown, more: Partial<More> = {}) =>
    exchange(fetcher, url, token, path, body, { headers: {}, patience_ms: LIMITS.hub_answer_ms, ...more })
  const client: HubClient = {
    url,
    async call(facade, action, params = {}, scope, patience_ms = LIMITS.hub_answer_ms) {
      const headers = scope === undefined ? {} : { 'x-scope': headerOf(scope) }
      const answer = await request('/call', { tool: facade, action, params }, { headers, patience_ms })
      return parse(url, CallAnswer, answer).result
    },
    ask: async (facade, action, params, answer, scope) =>
      parse(url, answer, await client.call(facade, action, params, scope)),
    as: async (identity, kind, session_id) => {
      const asked = { identity, kind, ...(session_id === undefined ? {} : { session_id }) }
      const answer = parse(url, TokenAnswer, await request('/auth/token', asked))
      return createHubClient(fetcher, url, answer.token)
    },
    health: async () => parse(url, Health, await request('/health')),
    ready: async () => {
      try {
        await request('/ready')
        return true
      } catch (error) {
        if (error instanceof TurnbellError) return false
        throw error
      }
    },
    hook: async (name, payload) =>
      parse(url, Json, await request(`/hook/${encodeURIComponent(name)}`, payload)),
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
  patience_ms: number
}

async function exchange(
  fetcher: typeof fetch,
  url: string,
  token: string | null,
  path: string,
  body: unknown,
  { headers, patience_ms }: More,
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
      signal: AbortSignal.timeout(patience_ms),
    })
    text = await response.text()
  } catch (cause) {
    throw unreachable(url, cause, patience_ms)
  }
  const value = parseJson(text)
  if (response.ok && value !== undefined) return value
  const problem = Problem.safeParse(value)
  if (problem.success) throw forOperator(fromProblem(problem.data), url)
  throw new TurnbellError('hub_unreachable', {
    detail: `${url} answers, but not as a turnbell hub (HTTP ${response.status})`,
    hint: 'Another program may hold the port: set hub.port or hub.url in the configuration.',
  })
}

/** Whoever reads this is the operator: there is nobody to ask for another token. */
function forOperator(error: TurnbellError, url: string): TurnbellError {
  if (error.code !== 'token_invalid') return error
  return new TurnbellError('token_invalid', {
    detail: `${url} does not accept the operator token of this home: ${error.detail}`,
    hint: 'It is the hub of another home, or the token was changed while it ran: `turnbell doctor` tells which hub this home has.',
    cause: error,
  })
}

/** A header is bytes; these are the text's in UTF-8, as curl would send them. */
function headerOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function unreachable(url: string, cause: unknown, patience_ms: number): TurnbellError {
  // Nobody was asked: there is no address to name.
  if (cause instanceof TurnbellError) return cause
  if (cause instanceof Error && cause.name === 'TimeoutError') {
    return new TurnbellError('timed_out', {
      detail: `${url} did not answer within ${patience_ms} ms`,
      hint: 'What was asked for may still be done: look before you ask again.',
      cause,
    })
  }
  return new TurnbellError('hub_unreachable', { detail: `${url}: ${reasonOf(cause)}`, cause })
}

/** Whether what was asked for may be done all the same: the hub was reached, and only its answer is missing. */
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

/** `fetch failed` says nothing; the reason is one or two causes below. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = (error as NodeJS.ErrnoException).code
  if (error.cause !== undefined) return reasonOf(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return code === 'ECONNREFUSED' ? 'nobody listens there' : error.message || (code ?? error.name)
}

function parse<T extends z.ZodType>(url: string, schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new TurnbellError('hub_unreachable', {
    detail: `${url} answers, but not as this version of turnbell expects`,
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
