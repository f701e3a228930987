/**
 * Authentication of callers. The operator's token is a secret of the home; every other caller has a signed token for one
 * persona and one kind (format: `contracts/token.ts`). Tokens are not stored, so they stay valid across hub restarts.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { z } from 'zod'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { TenantId } from '../contracts/ids.ts'
import { parseJsonOrNull } from '../contracts/validation/json.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { TokenPayload, type Caller, type TokenAnswer, type TokenRequest } from '../contracts/token.ts'
import { signatureOf, signToken } from '../kernel/sign-token.ts'
import type { Clock } from '../ports/clock.ts'

export interface Tokens {
  /** Throws `params_invalid`, as `issue` does, for an identity that is not a valid persona name. */
  sign(payload: TokenPayload): string
  /** Throws `token_invalid` for a token that this hub did not issue, `token_expired` for an expired one. */
  verify(token: string): TokenPayload
  /** Throws `token_missing` for null. */
  authenticate(token: string | null): Caller
  /** Throws `operator_required` unless the caller is the operator or renews the token of its own identity and kind. */
  issue(caller: Caller, request: z.infer<typeof TokenRequest>): z.infer<typeof TokenAnswer>
}

/** Longer than any valid token: a payload is at most a few hundred bytes. */
const TOKEN_LENGTH_MAX = 2_048

/** Maximum number of verified tokens whose signature is not checked again at every request. */
export const TOKENS_KNOWN_MAX = 1_024

interface TokenDeps {
  signing_key: string
  operator_token: string
  tenant_id: TenantId
  clock: Clock
}

export function createTokens(deps: TokenDeps): Tokens {
  const { clock, tenant_id, signing_key } = deps
  const now_s = () => Math.floor(clock.now() / 1000)
  const operator_digest = digest(deps.operator_token)
  /** Verified tokens, oldest first. */
  const known = new Map<string, TokenPayload>()
  const sign: Tokens['sign'] = (payload) => signToken(payload, signing_key)

  const remember = (token: string, payload: TokenPayload) => {
    const oldest = known.keys().next().value
    if (known.size >= TOKENS_KNOWN_MAX && oldest !== undefined) known.delete(oldest)
    known.set(token, payload)
  }

  const verify: Tokens['verify'] = (token) => {
    const payload = known.get(token) ?? verifiedPayload(token, deps)
    if (payload.exp <= now_s()) {
      known.delete(token)
      throw new TurnbellError('token_expired', {
        detail: `The token of ${payload.identity} ended at ${new Date(payload.exp * 1000).toISOString()}.`,
      })
    }
    if (!known.has(token)) remember(token, payload)
    return payload
  }

  return {
    sign,
    verify,

    authenticate(token) {
      if (token === null || token === '') {
        throw new TurnbellError('token_missing', { detail: 'The request has no token.' })
      }
      if (!known.has(token) && sameSecret(token, operator_digest)) {
        return { tenant_id, kind: 'operator', identity: 'operator' }
      }
      const { identity, kind, session_id, facets } = verify(token)
      const caller: Caller = { tenant_id, kind, identity }
      if (session_id !== undefined) caller.session_id = session_id
      if (facets !== undefined) caller.facets = facets
      return caller
    },

    issue(caller, request) {
      const claims = permittedClaims(caller, request)
      const token = sign({ tenant_id, ...claims, exp: now_s() + LIMITS.token_ttl_s })
      return { token, expires_in: LIMITS.token_ttl_s }
    },
  }
}

/** Returns the payload of a token with a valid signature, which may have expired. Throws `token_invalid`. */
function verifiedPayload(
  token: string,
  { signing_key, tenant_id }: Pick<TokenDeps, 'signing_key' | 'tenant_id'>,
): TokenPayload {
  const [body, signature, ...more] = token.length > TOKEN_LENGTH_MAX ? [] : token.split('.')
  if (!body || !signature || more.length > 0) throw invalid('it does not have the form of a token')
  if (!sameSecret(signature, digest(signatureOf(body, signing_key))))
    throw invalid('its signature is not valid for this hub')
  const payload = TokenPayload.safeParse(parseJsonOrNull(Buffer.from(body, 'base64url').toString('utf8')))
  if (!payload.success) throw invalid('its payload is not valid')
  if (payload.data.tenant_id !== tenant_id) throw invalid('it belongs to another tenant')
  return payload.data
}

/**
 * Returns the claims of the requested token. Throws `operator_required` or `identity_mismatch` if the caller may not
 * have them.
 */
function permittedClaims(
  caller: Caller,
  request: z.infer<typeof TokenRequest>,
): Omit<TokenPayload, 'tenant_id' | 'exp'> {
  const is_renewal = caller.identity === request.identity && caller.kind === request.kind
  if (caller.kind !== 'operator' && !is_renewal) {
    throw new TurnbellError('operator_required', {
      detail: `The ${caller.kind} ${caller.identity} may renew its own token, not get one for the ${request.kind} ${request.identity}.`,
    })
  }
  // A renewed token keeps its session; otherwise one run of an agent could confirm or release leases of another. A token
  // without a session belongs to the whole persona and may name any session of it.
  const session_id = caller.session_id ?? request.session_id
  if (request.session_id !== undefined && request.session_id !== session_id) {
    throw new TurnbellError('identity_mismatch', {
      detail: 'A token can only be renewed for the session that it names.',
    })
  }
  // A renewed token has at most the facets of the old one.
  const facets = caller.facets ?? (caller.kind === 'operator' ? request.facets : undefined)
  if (request.facets?.some((facet) => facets?.includes(facet) !== true)) {
    throw new TurnbellError('operator_required', {
      detail: 'A renewed token cannot have facets that the old token does not name.',
    })
  }
  return {
    identity: request.identity,
    kind: request.kind,
    ...(session_id === undefined ? {} : { session_id }),
    ...(facets === undefined ? {} : { facets }),
  }
}

function invalid(why: string): TurnbellError {
  return new TurnbellError('token_invalid', { detail: `The token was not accepted: ${why}.` })
}

/** Compares in constant time; both sides are hashed first, because their lengths must be equal. */
function sameSecret(given: string, expected: Buffer): boolean {
  return timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
