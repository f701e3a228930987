/** Coordination between agents: locks on resources, blockings and subscriptions. */
import * as z from 'zod'
import { Identity, Json, RegistrationKind, SessionId, SurfaceKind, Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits/limits.ts'
import { AgentNotes } from './registry.ts'
import { Topic } from './signal.ts'

/** Name that agents agree on: a path, `deploy`, `port:8080`. */
export const Resource = z.string().trim().min(1).max(LIMITS.resource_length_max)
export const Note = z.string().min(1).max(LIMITS.note_length_max)

/** `tree` covers the resource, read as a path, and everything below it. */
export const LockScope = z.enum(['exact', 'tree'])
export type LockScope = z.infer<typeof LockScope>

/** `released` and `expired` are final. */
export const LockStatus = z.enum(['held', 'released', 'expired'])
export type LockStatus = z.infer<typeof LockStatus>

/**
 * Lock of one session on one resource. Its record kind `lease` and its events `lease.*` have an older word, because they
 * are stored or sent.
 */
export const Lock = z.object({
  lock_id: Ulid,
  resource: Resource,
  scope: LockScope,
  identity: Identity,
  session_id: SessionId,
  /** Fencing token: higher than the epoch of every earlier lock. */
  epoch: z.number().int().min(1),
  status: LockStatus,
  taken_at: Timestamp,
  ttl_s: z.number().int(),
  expires_at: Timestamp,
  /** Null while the lock is held. */
  ended_at: Timestamp.nullable(),
  note: Note.optional(),
})
export type Lock = z.infer<typeof Lock>

/** Reason for a release before the lock expired. */
export const LockReleaseCause = z.enum(['asked', 'forced', 'session_lost', 'persona_ended', 'stolen'])
export type LockReleaseCause = z.infer<typeof LockReleaseCause>

/** Public view of a lock. */
export const LockView = Lock.omit({ lock_id: true, status: true, ended_at: true }).meta({ title: 'Lock' })
export type LockView = z.infer<typeof LockView>

export const LockInput = z.strictObject({
  resource: Resource,
  /** Time to live from now, in seconds. Default: the previous value for an extension, otherwise 300. */
  ttl_s: z.number().int().min(1).max(LIMITS.lock_ttl_s_max).optional(),
  scope: LockScope.optional(),
  note: Note.optional(),
  /** Only extends, and only if the lock with this epoch is still held. */
  epoch: z.number().int().min(1).optional(),
  /** Takes the lock over from an ended session of the caller's own persona. */
  steal_own: z.boolean().default(false),
  /** Waiting is not supported. */
  wait: z.literal(false).optional(),
})
export type LockInput = z.infer<typeof LockInput>
export const LockAnswer = LockView.extend({ extended: z.boolean() })
export type LockAnswer = z.infer<typeof LockAnswer>

export const UnlockInput = z.strictObject({
  resource: Resource,
  epoch: z.number().int().min(1).optional(),
  /** Releases the lock of any holder. Only for the operator. */
  force: z.boolean().default(false),
})
export type UnlockInput = z.infer<typeof UnlockInput>

/** Statement of persona `blocker` that persona `blocked` has to wait for it. */
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

/** Subscription of a persona to the broadcasts on a topic. */
export const Subscription = z.object({
  subscription_id: Ulid,
  identity: Identity,
  topic: Topic,
  since: Timestamp,
})
export type Subscription = z.infer<typeof Subscription>
export const SubscriptionView = Subscription.omit({ subscription_id: true }).meta({ title: 'Subscription' })
export type SubscriptionView = z.infer<typeof SubscriptionView>

/** Connected agent. */
export const AgentView = AgentNotes.extend({
  identity: Identity,
  surface: SurfaceKind,
  session_id: SessionId,
  kind: RegistrationKind,
  last_heartbeat_at: Timestamp,
  note: z.string().nullable(),
  /** Resources locked by this session. */
  locks: z.array(z.string()),
  /** Personas that block this one. */
  blocked_by: z.array(Identity),
}).meta({ title: 'Agent' })
export type AgentView = z.infer<typeof AgentView>

export const CoordinatorStatus = z.object({
  agents: z.array(AgentView),
  locks: z.array(LockView),
  blockings: z.array(BlockingView),
  /** Numbers of all entries; the lists may be truncated. */
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
  /** Returns entries after this seq or time; the newest entries by default. */
  since: z.union([z.number().int().min(0), z.iso.datetime({ offset: true })]).optional(),
  agent_id: Identity.optional(),
  limit: z.number().int().min(1).max(LIMITS.history_limit_max).default(LIMITS.history_limit_default),
})
export type HistoryInput = z.infer<typeof HistoryInput>
/** Oldest first. `next` is the `since` of the next page. */
export const HistoryPage = z.object({ entries: z.array(LogEntry), next: z.number().int() })
export type HistoryPage = z.infer<typeof HistoryPage>

export const StatusInput = z.strictObject({
  identity: Identity.optional(),
  limit: z.number().int().min(1).max(LIMITS.status_limit_max).default(LIMITS.status_limit_default),
})
export type StatusInput = z.infer<typeof StatusInput>

/** Blockings of one persona in both directions. */
export const BlockedAnswer = z.object({
  identity: Identity,
  blocked: z.boolean(),
  blocked_by: z.array(BlockingView),
  blocks: z.array(BlockingView),
})
export type BlockedAnswer = z.infer<typeof BlockedAnswer>
