/** What a signed token says. Form: base64url(payload) "." hex(hmac_sha256(signing key, base64url(payload))). */
import * as z from 'zod'
import { FacetName, Identity, PersonaName, RegistrationKind, SessionId, TenantId } from './ids.ts'
import { LIMITS } from './limits.ts'

const Facets = z.array(FacetName).max(LIMITS.token_facets_max).readonly()

export const TokenPayload = z.object({
  tenant_id: TenantId,
  identity: PersonaName,
  kind: RegistrationKind,
  session_id: SessionId.optional(),
  /** What is open to its holder, whatever the hub offers to others. */
  facets: Facets.optional(),
  /** Unix time in seconds. */
  exp: z.number().int(),
})
export type TokenPayload = z.infer<typeof TokenPayload>

/**
 * Who makes a call. The operator holds the home's own token and may do everything; everybody else
 * acts as one persona and one kind.
 */
export interface Caller {
  tenant_id: string
  kind: 'operator' | 'agent' | 'daemon' | 'observer'
  /** The persona; `operator` for the operator. */
  identity: string
  session_id?: string
  /** See `TokenPayload`. */
  facets?: readonly string[]
}

export const TokenRequest = z.strictObject({
  identity: Identity,
  kind: RegistrationKind,
  session_id: SessionId.optional(),
  /** Only the operator may say. */
  facets: Facets.optional(),
})
/** As a header carries it: another one could be kept, but never shown. */
export const BearerToken = z.string().regex(/^[\x21-\x7e]+$/)

export const TokenAnswer = z.object({ token: BearerToken, expires_in: z.number().int().positive() })
export type TokenAnswer = z.infer<typeof TokenAnswer>
