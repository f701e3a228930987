/**
 * The daemon's token for its hub. With the operator's token a new one can be requested at any time; without
 * it, the token passed to the daemon is renewed before it expires.
 */
import { fromProblem, Problem, TurnbellError } from '../../contracts/errors/errors.ts'
import { parseJsonOrNull } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { BearerToken, TokenAnswer, TokenPayload } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'

export interface TokenSourceOptions {
  /** The hub's address, read for each request. */
  url: () => string
  identity: string
  session_id: string
  /** Reads the operator's token of this home; null if there is none. */
  operatorToken: () => string | null
  /** A token created for this daemon; if set, the operator's token is not used. */
  given?: string | undefined
  /** Sends the HTTP request; only the simulation passes its own. Rejects with `hub_unreachable`. */
  post?: Post | undefined
  clock: Pick<Clock, 'now'>
}

interface Held {
  token: string
  renew_at: number
  expires_at: number
}

export type Post = (url: string, bearer: string, body: object) => Promise<{ status: number; text: string }>

export interface TokenSource {
  /**
   * Returns a token with at least a fifth of its lifetime left. Rejects with `token_missing` or the hub's
   * refusal.
   */
  current(): Promise<string>
  /**
   * Called when the hub rejected the current token: the next one is requested with the token it was derived
   * from, while that is valid.
   */
  forget(): void
  /**
   * Milliseconds until the token should be renewed; null without one. At most the longest timer: a later
   * renewal is checked again in between.
   */
  renewIn(): number | null
}

export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { clock } = options
  /** May be valid for longer than the tokens it is renewed to. */
  const given = options.given === undefined ? null : fromText(options.given, clock.now())
  let held: Held | null = given
  const valid = (one: Held | null) => (one !== null && one.expires_at > clock.now() ? one.token : null)
  /** Whether another token is available if the current one is rejected. */
  const hasFallback = () => held !== given && (given === null || valid(given) !== null)

  async function obtain(): Promise<string> {
    // The current token first, because renewing it needs no secret; then the operator's.
    const own = valid(held) ?? valid(given)
    const bearer = own ?? (given === null ? options.operatorToken() : null)
    if (bearer === null) {
      throw new TurnbellError(given === null ? 'token_missing' : 'token_expired', {
        detail: 'no valid token for the hub is available',
        hint: 'Start a hub once to create the operator token of this home, or pass --token-file.',
      })
    }
    const { token, expires_in } = await requestToken(options, bearer)
    const now = clock.now()
    held = {
      token,
      expires_at: now + expires_in * 1000,
      renew_at: now + expires_in * 1000 * LIMITS.token_renew_ratio,
    }
    return token
  }

  return {
    async current() {
      if (held !== null && clock.now() < held.renew_at) return held.token
      try {
        return await obtain()
      } catch (error) {
        // A hub with another signing key rejects the current token; the token it was derived from may still
        // be valid.
        const stale = error instanceof TurnbellError && error.code.startsWith('token_')
        if (!stale || !hasFallback()) throw error
        held = null
        return obtain()
      }
    },
    forget() {
      // A person has to replace a given token that was rejected. The last token may have been rejected by
      // another hub.
      if (hasFallback()) held = given
    },
    renewIn() {
      if (held === null) return null
      return Math.min(Math.max(0, held.renew_at - clock.now()), LIMITS.timer_max_ms)
    },
  }
}

/** Reads only the times from the payload; the hub verifies the signature. */
function fromText(token: string, now: number): Held {
  let payload: unknown
  try {
    payload = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8'))
  } catch {
    payload = null
  }
  const parsed = TokenPayload.safeParse(payload)
  if (!parsed.success || !BearerToken.safeParse(token).success) {
    throw new TurnbellError('token_invalid', { detail: 'the given token is not a turnbell token' })
  }
  const expires_at = parsed.data.exp * 1000
  return { token, expires_at, renew_at: now + (expires_at - now) * LIMITS.token_renew_ratio }
}

async function requestToken(options: TokenSourceOptions, bearer: string): Promise<TokenAnswer> {
  const { identity, session_id } = options
  const body = { identity, kind: 'daemon', session_id }
  const { status, text } = await (options.post ?? post)(`${options.url()}/auth/token`, bearer, body)
  const value = parseJsonOrNull(text)
  const problem = Problem.safeParse(value)
  if (problem.success) throw fromProblem(problem.data)
  const answer = TokenAnswer.safeParse(value)
  if (answer.success) return answer.data
  throw new TurnbellError('hub_unreachable', { detail: `the hub answered ${status} to /auth/token` })
}

// `fetch` would also work, but loading it costs an idle daemon several megabytes for one request an hour.
async function post(url: string, bearer: string, body: object): Promise<{ status: number; text: string }> {
  // Imported at the first attempt, and only the module that is needed.
  const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const failed = (cause: Error) =>
      reject(new TurnbellError('hub_unreachable', { detail: `${url}: ${cause.message}`, cause }))
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const request_out = request(
      url,
      { method: 'POST', headers, timeout: LIMITS.hello_timeout_ms, agent: false },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
          if (text.length > LIMITS.token_answer_bytes_max)
            answer.destroy(new Error(`the response exceeds ${LIMITS.token_answer_bytes_max} characters`))
        })
        answer.on('error', failed)
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      },
    )
    request_out.on('timeout', () =>
      request_out.destroy(new Error(`no response within ${LIMITS.hello_timeout_ms} ms`)),
    )
    request_out.on('error', failed)
    // Without this listener the request would never complete when the server switches protocols.
    request_out.on('upgrade', (_, socket) => {
      socket.destroy()
      failed(new Error('the server switched to another protocol'))
    })
    request_out.end(JSON.stringify(body))
  })
}
