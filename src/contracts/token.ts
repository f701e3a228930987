/** Payload of a signed token. Format: base64url(payload) "." hex(hmac_sha256(signing key, base64url(payload))). */
import * as z from 'zod'
import { FacetName, Identity, PersonaName, RegistrationKind, SessionId, TenantId } from './ids.ts'
import { LIMITS } from './limits/limits.ts'

const Facets = z.array(FacetName).max(LIMITS.token_facets_max).readonly()

export const TokenPayload = z.object({
  tenant_id: TenantId,
  identity: PersonaName,
  kind: RegistrationKind,
  session_id: SessionId.optional(),
  /** Facets available to the holder, whatever the hub exposes. */
  facets: Facets.optional(),
  /** Unix time in seconds. */
  exp: z.number().int(),
})
export type TokenPayload = z.infer<typeof TokenPayload>

/**
 * Caller of an action. The operator holds the home's token and may do everything; any other caller acts as one persona
 * and one kind.
 */
export interface Caller {
  tenant_id: string
  kind: 'operator' | 'agent' | 'daemon' | 'observer'
  /** Persona, or `operator`. */
  identity: string
  session_id?: string
  /** See `TokenPayload`. */
  facets?: readonly string[]
}

export const TokenRequest = z.strictObject({
  identity: Identity,
  kind: RegistrationKind,
  session_id: SessionId.optional(),
  /** Only for the operator. */
  facets: Facets.optional(),
})
/** Characters that a header can carry. */
export const BearerToken = z.string().regex(/^[\x21-\x7e]+$/)

export const TokenAnswer = z.object({ token: BearerToken, expires_in: z.number().int().positive() })
export type TokenAnswer = z.infer<typeof TokenAnswer>
