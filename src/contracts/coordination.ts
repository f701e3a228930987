/** How agents keep out of each other's way: leases on resources, who blocks whom, who listens to what. */
import * as z from 'zod'
import { Identity, Json, RegistrationKind, SessionId, SurfaceKind, Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'
import { AgentNotes } from './registry.ts'
import { Topic } from './signal.ts'

/** Whatever agents agree to call a thing: a path, `deploy`, `port:8080`. */
export const Resource = z.string().trim().min(1).max(LIMITS.resource_length_max)
export const Note = z.string().min(1).max(LIMITS.note_length_max)

/** `tree`: the resource, read as a path, with everything below it. */
export const LeaseScope = z.enum(['exact', 'tree'])
export type LeaseScope = z.infer<typeof LeaseScope>

/** `held` goes to `released` or `expired`, and there it ends. */
export const LeaseStatus = z.enum(['held', 'released', 'expired'])
export type LeaseStatus = z.infer<typeof LeaseStatus>

/** One holding of one resource by one session of one persona. */
export const Lease = z.object({
  lease_id: Ulid,
  resource: Resource,
  scope: LeaseScope,
  identity: Identity,
  session_id: SessionId,
  /** Higher than that of every lease taken before it, so that what an earlier holder still says can be told apart. */
  epoch: z.number().int().min(1),
  status: LeaseStatus,
  taken_at: Timestamp,
  ttl_s: z.number().int(),
  expires_at: Timestamp,
  /** Null while it is held. */
  ended_at: Timestamp.nullable(),
  note: Note.optional(),
})
export type Lease = z.infer<typeof Lease>

/** Why a lease was released before its time. */
export const LeaseReleaseCause = z.enum(['asked', 'forced', 'session_lost', 'persona_ended', 'stolen'])
export type LeaseReleaseCause = z.infer<typeof LeaseReleaseCause>

/** A lease as others see it. */
export const Lock = Lease.omit({ lease_id: true, status: true, ended_at: true }).meta({ title: 'Lock' })
export type Lock = z.infer<typeof Lock>

export const LockInput = z.strictObject({
  resource: Resource,
  /** Counted from now. What it had before where it is extended, else 300. */
  ttl_s: z.number().int().min(1).max(LIMITS.lock_ttl_s_max).optional(),
  scope: LeaseScope.optional(),
  note: Note.optional(),
  /** Only extend, and only if the lease with this epoch is still held. */
  epoch: z.number().int().min(1).optional(),
  /** Take it over from a session of one's own persona that is gone. */
  steal_own: z.boolean().default(false),
  /** A lock is had at once or not at all. */
  wait: z.literal(false).optional(),
})
export type LockInput = z.infer<typeof LockInput>
export const LockAnswer = Lock.extend({ extended: z.boolean() })
export type LockAnswer = z.infer<typeof LockAnswer>

export const UnlockInput = z.strictObject({
  resource: Resource,
  epoch: z.number().int().min(1).optional(),
  /** Whoever holds it. For the operator. */
  force: z.boolean().default(false),
})
export type UnlockInput = z.infer<typeof UnlockInput>

/** Persona A says that persona B has to wait for it. */
export const Blocking = z.object({
  blocking_id: Ulid,
  blocker: Identity,
  blocked: Identity,
  reason: Note,
  since: Timestamp,
})
export type Blocking = z.infer<typeof Blocking>
export const BlockingView = Blocking.omit({ blocking_id: true }).meta({ title: 'Blocking' })
export type BlockingView = z.infer<typeof BlockingView>

/** A persona gets what is broadcast on the topic. */
export const Subscription = z.object({
  subscription_id: Ulid,
  identity: Identity,
  topic: Topic,
  since: Timestamp,
})
export type Subscription = z.infer<typeof Subscription>
export const SubscriptionView = Subscription.omit({ subscription_id: true }).meta({ title: 'Subscription' })
export type SubscriptionView = z.infer<typeof SubscriptionView>

/** Somebody who is there now. */
export const AgentView = AgentNotes.extend({
  identity: Identity,
  surface: SurfaceKind,
  session_id: SessionId,
  kind: RegistrationKind,
  last_heartbeat_at: Timestamp,
  note: z.string().nullable(),
  /** The resources that this session holds. */
  locks: z.array(z.string()),
  /** The personas that say they block this one. */
  blocked_by: z.array(Identity),
}).meta({ title: 'Agent' })
export type AgentView = z.infer<typeof AgentView>

export const CoordinatorStatus = z.object({
  agents: z.array(AgentView),
  locks: z.array(Lock),
  blockings: z.array(BlockingView),
  /** Of all there are; the lists may be shorter. */
  totals: z.object({ agents: z.number().int(), locks: z.number().int(), blockings: z.number().int() }),
  as_of: Timestamp,
})
export type CoordinatorStatus = z.infer<typeof CoordinatorStatus>

export const LogLevel = z.enum(['debug', 'info', 'warn', 'error'])
export const LogInput = z.strictObject({
  message: z.string().min(1).max(LIMITS.log_message_length_max),
  level: LogLevel.default('info'),
  data: Json.optional(),
})
export type LogInput = z.infer<typeof LogInput>

export const LogEntry = z.object({
  seq: z.number().int(),
  timestamp: Timestamp,
  agent_id: z.string(),
  level: LogLevel,
  message: z.string(),
  data: Json.optional(),
  run_id: z.string().optional(),
})
export type LogEntry = z.infer<typeof LogEntry>

export const HistoryInput = z.strictObject({
  /** Entries after this seq, or after this time. The newest ones where it is not said. */
  since: z.union([z.number().int().min(0), z.iso.datetime({ offset: true })]).optional(),
  agent_id: Identity.optional(),
  limit: z.number().int().min(1).max(LIMITS.history_limit_max).default(LIMITS.history_limit_default),
})
export type HistoryInput = z.infer<typeof HistoryInput>
/** Oldest first. `next` is the `since` of what comes after. */
export const HistoryPage = z.object({ entries: z.array(LogEntry), next: z.number().int() })
export type HistoryPage = z.infer<typeof HistoryPage>

export const StatusInput = z.strictObject({
  identity: Identity.optional(),
  limit: z.number().int().min(1).max(LIMITS.status_limit_max).default(LIMITS.status_limit_default),
})
export type StatusInput = z.infer<typeof StatusInput>

/** Both directions, as seen from one persona. */
export const BlockedAnswer = z.object({
  identity: Identity,
  blocked: z.boolean(),
  blocked_by: z.array(BlockingView),
  blocks: z.array(BlockingView),
})
export type BlockedAnswer = z.infer<typeof BlockedAnswer>
