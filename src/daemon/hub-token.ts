/**
 * The daemon's token for its hub. With the operator's token at hand a new one is had for the asking;
 * without it the one we were given is renewed while it still holds.
 */
import { fromProblem, Problem, TurnbellError } from '../contracts/errors.ts'
import { jsonIn } from '../contracts/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import { BearerToken, TokenAnswer, TokenPayload } from '../contracts/token.ts'
import type { Clock } from '../ports/clock.ts'

export interface TokenSourceOptions {
  /** The hub's address, read anew each time. */
  url: () => string
  identity: string
  session_id: string
  /** Reads the operator's token of this home; null where there is none. */
  operatorToken: () => string | null
  /** A token that somebody made for this daemon; then the operator's is not asked for. */
  given?: string | undefined
  /** Asks over HTTP; only a simulation brings its own. Rejects with `hub_unreachable`. */
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
  /** A token with at least a fifth of its life left. Rejects with `token_missing` or the hub's refusal. */
  current(): Promise<string>
  /** The hub did not take the one we hold: the next is asked for with what it came from, as long as that holds. */
  forget(): void
  /**
   * When to look whether the present one is to be renewed, in milliseconds from now; null without one. Never more than a
   * timer takes: one that holds for longer is looked at in between.
   */
  renewIn(): number | null
}

export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { clock } = options
  /** It may hold longer than what it is renewed to. */
  const given = options.given === undefined ? null : fromText(options.given, clock.now())
  let held: Held | null = given
  const valid = (one: Held | null) => (one !== null && one.expires_at > clock.now() ? one.token : null)
  /** Without the one we hold there is still another to ask with. */
  const hasSpare = () => held !== given && (given === null || valid(given) !== null)

  async function obtain(): Promise<string> {
    // Ours first: renewing it needs no secret. The operator's when it is gone.
    const own = valid(held) ?? valid(given)
    const bearer = own ?? (given === null ? options.operatorToken() : null)
    if (bearer === null) {
      throw new TurnbellError(given === null ? 'token_missing' : 'token_expired', {
        detail: 'there is no token to present to the hub',
        hint: 'The operator token of this home is made at the first start of a hub; or give --token-file.',
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
        // A hub with another signing key knows nothing of the token we hold; what it came from still counts.
        const stale = error instanceof TurnbellError && error.code.startsWith('token_')
        if (!stale || !hasSpare()) throw error
        held = null
        return obtain()
      }
    },
    forget() {
      // That a given token was refused is for a person to mend. The last one may have been refused by somebody else.
      if (hasSpare()) held = given
    },
    renewIn() {
      if (held === null) return null
      return Math.min(Math.max(0, held.renew_at - clock.now()), LIMITS.timer_max_ms)
    },
  }
}

/** The payload is only read for its time; whether it is genuine is the hub's business. */
function fromText(token: string, now: number): Held {
  let payload: unknown
  try {
    payload = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8'))
  } catch {
    payload = null
  }
  const parsed = TokenPayload.safeParse(payload)
  if (!parsed.success || !BearerToken.safeParse(token).success) {
    throw new TurnbellError('token_invalid', { detail: 'the given token is not one of ours' })
  }
  const expires_at = parsed.data.exp * 1000
  return { token, expires_at, renew_at: now + (expires_at - now) * LIMITS.token_renew_ratio }
}

async function requestToken(options: TokenSourceOptions, bearer: string): Promise<TokenAnswer> {
  const { identity, session_id } = options
  const body = { identity, kind: 'daemon', session_id }
  const { status, text } = await (options.post ?? post)(`${options.url()}/auth/token`, bearer, body)
  const value = jsonIn(text)
  const problem = Problem.safeParse(value)
  if (problem.success) throw fromProblem(problem.data)
  const answer = TokenAnswer.safeParse(value)
  if (answer.success) return answer.data
  throw new TurnbellError('hub_unreachable', { detail: `the hub answered ${status} to /auth/token` })
}

// `fetch` would do, but loading it costs an idle daemon several megabytes for one request an hour.
async function post(url: string, bearer: string, body: object): Promise<{ status: number; text: string }> {
  // Loaded with the first attempt, and only the one that is needed.
  const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const failed = (cause: Error) =>
      reject(new TurnbellError('hub_unreachable', { detail: `${url}: ${cause.message}`, cause }))
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const asked = request(
      url,
      { method: 'POST', headers, timeout: LIMITS.hello_timeout_ms, agent: false },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
          if (text.length > LIMITS.token_answer_bytes_max) answer.destroy(new Error('the answer is too long'))
        })
        answer.on('error', failed)
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      },
    )
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.on('error', failed)
    // Who listens for it must end the connection; who does not hears nothing at all.
    asked.on('upgrade', (_, socket) => {
      socket.destroy()
      failed(new Error('the answer switches to another protocol'))
    })
    asked.end(JSON.stringify(body))
  })
}
