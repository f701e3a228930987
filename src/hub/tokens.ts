/**
 * Who calls. The operator's token is the home's own secret; everybody else holds a signed statement of
 * one persona and one kind (`contracts/token.ts` has its form). Nothing is stored, so a restarted hub
 * knows every token it gave out.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { z } from 'zod'
import { TurnbellError } from '../contracts/errors.ts'
import type { TenantId } from '../contracts/ids.ts'
import { jsonIn } from '../contracts/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import { TokenPayload, type Caller, type TokenAnswer, type TokenRequest } from '../contracts/token.ts'
import { signatureOf, signToken } from '../kernel/sign-token.ts'
import type { Clock } from '../ports/clock.ts'

export interface Tokens {
  /** Throws `params_invalid`, as `issue` does, for a name that no persona has. */
  sign(payload: TokenPayload): string
  /** Throws `token_invalid` for anything that is not ours, `token_expired` for what was. */
  verify(token: string): TokenPayload
  /** Throws `token_missing` for null. */
  authenticate(token: string | null): Caller
  /** Throws `operator_required` unless the operator asks, or the caller renews for its own identity and kind. */
  issue(caller: Caller, request: z.infer<typeof TokenRequest>): z.infer<typeof TokenAnswer>
}

/** Longer than any token of ours: a payload is at most a few hundred bytes. */
const TOKEN_LENGTH_MAX = 2_048

/** Tokens whose signature is not checked again at every request. */
export const TOKENS_KNOWN_MAX = 1_024

export function createTokens(needs: {
  signing_key: string
  operator_token: string
  tenant_id: TenantId
  clock: Clock
}): Tokens {
  const { clock, tenant_id } = needs
  const now_s = () => Math.floor(clock.now() / 1000)
  const expected_operator = digest(needs.operator_token)
  /** Tokens that were ours when they were first shown; the one shown first is forgotten first. */
  const known = new Map<string, TokenPayload>()
  const sign: Tokens['sign'] = (payload) => signToken(payload, needs.signing_key)

  const verify: Tokens['verify'] = (token) => {
    const payload = known.get(token) ?? checked(token)
    if (payload.exp <= now_s()) {
      known.delete(token)
      throw new TurnbellError('token_expired', {
        detail: `The token of ${payload.identity} ended at ${new Date(payload.exp * 1000).toISOString()}.`,
      })
    }
    if (!known.has(token)) remember(token, payload)
    return payload
  }

  const remember = (token: string, payload: TokenPayload) => {
    const oldest = known.keys().next().value
    if (known.size >= TOKENS_KNOWN_MAX && oldest !== undefined) known.delete(oldest)
    known.set(token, payload)
  }

  const checked = (token: string): TokenPayload => {
    const [body, signed, ...more] = token.length > TOKEN_LENGTH_MAX ? [] : token.split('.')
    if (!body || !signed || more.length > 0) throw invalid('it does not have the form of a token')
    if (!sameSecret(signed, digest(signatureOf(body, needs.signing_key))))
      throw invalid('its signature does not fit')
    const payload = TokenPayload.safeParse(jsonIn(Buffer.from(body, 'base64url').toString('utf8')))
    if (!payload.success) throw invalid('it does not say who holds it')
    if (payload.data.tenant_id !== tenant_id) throw invalid('it belongs to another tenant')
    return payload.data
  }

  return {
    sign,
    verify,

    authenticate(token) {
      if (token === null || token === '') {
        throw new TurnbellError('token_missing', { detail: 'The request carries no token.' })
      }
      if (!known.has(token) && sameSecret(token, expected_operator)) {
        return { tenant_id, kind: 'operator', identity: 'operator' }
      }
      const { identity, kind, session_id, facets } = verify(token)
      const caller: Caller = { tenant_id, kind, identity }
      if (session_id !== undefined) caller.session_id = session_id
      if (facets !== undefined) caller.facets = facets
      return caller
    },

    issue(caller, request) {
      const own = caller.identity === request.identity && caller.kind === request.kind
      if (caller.kind !== 'operator' && !own) {
        throw new TurnbellError('operator_required', {
          detail: `The ${caller.kind} ${caller.identity} may renew its own token, not get one for the ${request.kind} ${request.identity}.`,
        })
      }
      // A token of one session stays that; otherwise one run of an agent could take another's leases. One
      // without a session is the whole persona's, and names whichever it speaks for.
      const session_id = caller.session_id ?? request.session_id
      if (request.session_id !== undefined && request.session_id !== session_id) {
        throw new TurnbellError('identity_mismatch', {
          detail: 'A renewal is for the session that the token names.',
        })
      }
      // Nor does it open what the token that is renewed does not.
      const facets = caller.facets ?? (caller.kind === 'operator' ? request.facets : undefined)
      if (request.facets?.some((facet) => facets?.includes(facet) !== true)) {
        throw new TurnbellError('operator_required', {
          detail: 'A renewal opens no facet that the token does not name.',
        })
      }
      const token = sign({
        tenant_id,
        identity: request.identity,
        kind: request.kind,
        ...(session_id === undefined ? {} : { session_id }),
        ...(facets === undefined ? {} : { facets }),
        exp: now_s() + LIMITS.token_ttl_s,
      })
      return { token, expires_in: LIMITS.token_ttl_s }
    },
  }
}

function invalid(why: string): TurnbellError {
  return new TurnbellError('token_invalid', { detail: `The token was not accepted: ${why}.` })
}

/** Takes the same time wherever they differ; hashing first makes lengths equal. */
function sameSecret(given: string, expected: Buffer): boolean {
  return timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
