/**
 * Identifiers and scalars used in every boundary. All fields are snake_case, on the wire, on disk and in code, so there
 * is no mapping layer between them.
 */
import * as z from 'zod'
import { jsonCopy, type JsonValue } from './validation/json-value.ts'
import { LIMITS } from './limits/limits.ts'

const ULID_FORM = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export const TenantId = z
  .string()
  .regex(
    new RegExp(`^[a-z0-9][a-z0-9-]{0,${LIMITS.tenant_length_max - 1}}$`),
    'a tenant_id matches [a-z0-9][a-z0-9-]{0,31}',
  )
export type TenantId = z.infer<typeof TenantId>

/** Name of a persona. Also a metric label and a directory name, hence the narrow alphabet. */
export const Identity = z
  .string()
  .regex(
    new RegExp(`^[a-z0-9][a-z0-9._-]{0,${LIMITS.identity_length_max - 1}}$`),
    'an identity matches [a-z0-9][a-z0-9._-]{0,62}',
  )
export type Identity = z.infer<typeof Identity>

/** The person: a sender and recipient that always exists, with an inbox and without a daemon. It is not a persona. */
export const OPERATOR = 'operator'
/** Sender of the hub's own signals. */
export const SYSTEM_SENDER = 'turnbell'
/** Names that a persona cannot have: the two senders above, and the hub, whose log file has that name. */
export const RESERVED_IDENTITIES = [OPERATOR, SYSTEM_SENDER, 'hub'] as const
export const PersonaName = Identity.refine(
  (identity) => !(RESERVED_IDENTITIES as readonly string[]).includes(identity),
  `no persona is called ${RESERVED_IDENTITIES.join(', ')}: these names are reserved`,
)

/** Where the agent of a persona can be reached. */
export const SurfaceKind = z.enum(['claude-code', 'codex', 'opencode', 'tmux', 'command', 'mcp'])
export type SurfaceKind = z.infer<typeof SurfaceKind>

/** Agent clients with built-in support. */
export const ClientKind = SurfaceKind.extract(['claude-code', 'codex', 'opencode'])
export type ClientKind = z.infer<typeof ClientKind>

/** Kind of the holder of a registration. */
export const RegistrationKind = z.enum(['agent', 'daemon', 'observer'])
export type RegistrationKind = z.infer<typeof RegistrationKind>

/** Session of an agent as named by its client; opaque to turnbell. */
export const SessionId = z.string().min(1).max(LIMITS.session_id_length_max)
export type SessionId = z.infer<typeof SessionId>

/** Identifies a process uniquely, even if its pid is reused. */
export const InstanceId = z.string().min(1).max(LIMITS.session_id_length_max)
export type InstanceId = z.infer<typeof InstanceId>

/** Agent of a call that does not name one. */
export const ANONYMOUS_AGENT = 'anonymous'

/** Prefix of the session of an agent whose token contains no session; its identity follows. */
export const ANONYMOUS_SESSION_PREFIX = 'anonymous:'

export const Ulid = z.string().regex(ULID_FORM, 'an id is a ULID: 26 characters of Crockford base32')
export const SignalId = Ulid
export type SignalId = z.infer<typeof SignalId>
export const DrainId = Ulid
export type DrainId = z.infer<typeof DrainId>
export const DoorbellId = Ulid
export type DoorbellId = z.infer<typeof DoorbellId>
export const ProjectId = Ulid
export type ProjectId = z.infer<typeof ProjectId>

/** ISO 8601, UTC, milliseconds: `2026-01-31T23:59:59.999Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 })
export type Timestamp = z.infer<typeof Timestamp>

/** Position of a signal in the hub's journal; increases with every accepted signal. */
export type Seq = number

/** Group of facades that is exposed as a whole. */
export const FacetName = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'a facet is a name such as core')

export type Json = JsonValue
/**
 * Equivalent to `z.json()`, but validated in one pass, because nearly every call contains JSON and checking six
 * alternatives per value is several times slower. It has an id, so that published schemas reference it.
 */
export const Json: z.ZodType<Json> = z
  .any()
  .overwrite(jsonCopy)
  .refine((value) => value !== undefined, 'a JSON value')
  .meta({ id: 'Json', description: 'Any JSON value.' })
