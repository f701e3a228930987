/**
 * The words that cross every boundary. All fields are snake_case, on the wire, on disk and in code,
 * so there is no mapping layer between them.
 */
import * as z from 'zod'
import { IDENTITY_FORM } from './identity-form.ts'
import { jsonCopy, type JsonValue } from './json-copy.ts'
import { LIMITS } from './limits.ts'

const ULID_FORM = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export const TenantId = z
  .string()
  .regex(
    new RegExp(`^[a-z0-9][a-z0-9-]{0,${LIMITS.tenant_length_max - 1}}$`),
    'a tenant_id matches [a-z0-9][a-z0-9-]{0,31}',
  )
export type TenantId = z.infer<typeof TenantId>

/** A persona's name. */
export const Identity = z.string().regex(IDENTITY_FORM, 'an identity matches [a-z0-9][a-z0-9._-]{0,62}')
export type Identity = z.infer<typeof Identity>

/** The person: a sender and addressee that always exists. It has an inbox and no daemon, and is no persona. */
export const OPERATOR = 'operator'
/** Sender of what the hub itself sends. */
export const SYSTEM_SENDER = 'turnbell'
/**
 * Names that no persona has: senders that are none, a person at the command line and turnbell itself; and
 * the hub, whose log a persona of that name would share.
 */
export const RESERVED_IDENTITIES = [OPERATOR, SYSTEM_SENDER, 'hub'] as const
export const PersonaName = Identity.refine(
  (identity) => !(RESERVED_IDENTITIES as readonly string[]).includes(identity),
  `no persona is called ${RESERVED_IDENTITIES.join(', ')}: these names are reserved`,
)

/** Where a persona's agent can be reached. */
export const SurfaceKind = z.enum(['claude-code', 'codex', 'opencode', 'tmux', 'command', 'mcp'])
export type SurfaceKind = z.infer<typeof SurfaceKind>

/** The agent clients that turnbell knows by themselves: their screens, their ways in, their settings. */
export const ClientKind = SurfaceKind.extract(['claude-code', 'codex', 'opencode'])
export type ClientKind = z.infer<typeof ClientKind>

/** Who holds a registration. */
export const RegistrationKind = z.enum(['agent', 'daemon', 'observer'])
export type RegistrationKind = z.infer<typeof RegistrationKind>

/** One run of an agent, named by its client. Opaque to turnbell. */
export const SessionId = z.string().min(1).max(LIMITS.session_id_length_max)
export type SessionId = z.infer<typeof SessionId>

/** Tells a process from every other, also from a later one with its pid. */
export const InstanceId = z.string().min(1).max(LIMITS.session_id_length_max)
export type InstanceId = z.infer<typeof InstanceId>

/** What a call says of its agent when it says nothing. */
export const ANONYMOUS_AGENT = 'anonymous'

/** Begins the name under which an agent drains whose token carries no session; its identity follows. */
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

/** The position of a signal in the hub's journal; grows by one with every accepted signal. */
export type Seq = number

/** A group of facades that is offered or not as a whole. */
export const FacetName = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'a facet is a name such as core')

export type Json = JsonValue
/**
 * As `z.json()`, but in one walk: nearly every call carries some, and to hold each part of it against six forms
 * takes several times as long. Named, so that published schemas refer to it instead of repeating it.
 */
export const Json: z.ZodType<Json> = z
  .any()
  .overwrite(jsonCopy)
  .refine((value) => value !== undefined, 'a JSON value')
  .meta({ id: 'Json', description: 'Any JSON value.' })
