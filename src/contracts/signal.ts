/** A signal and its life cycle: pending, acked, completed, expired, cancelled, dead. */
import * as z from 'zod'
import { DrainId, Identity, Json, SessionId, SignalId, Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits/limits.ts'
import { PayloadPart } from './signal-parts.ts'

/**
 * - `pending`: on disk, not drained.
 * - `acked`: drained. Tentative while it has a lease: a lost lease returns it to `pending`.
 * - `completed`: acknowledged by the recipient.
 * - `expired`: not drained within its ttl; `replay` returns it to `pending`.
 * - `cancelled`: withdrawn by its sender or the operator while it was pending.
 * - `dead`: returned to pending more than `deliveries_max` times; stored until it is replayed.
 */
export const SignalStatus = z.enum(['pending', 'acked', 'completed', 'expired', 'cancelled', 'dead'])
export type SignalStatus = z.infer<typeof SignalStatus>

/** Derived from the sender's token, never from a parameter. */
export const Origin = z.enum(['human', 'agent', 'system'])
export type Origin = z.infer<typeof Origin>

export const Priority = z.number().int().min(LIMITS.priority_min).max(LIMITS.priority_max)

/** Subject of the signal, as an identifier, because it appears in the doorbell's text. */
export const Intent = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,${LIMITS.intent_length_max - 1}}$`),
    'an intent matches [A-Za-z0-9][A-Za-z0-9._:/-]{0,63}',
  )
export const Topic = z.string().min(1).max(LIMITS.topic_length_max)

/** Senders that are not personas use the reserved identities `operator` and `turnbell`. */
export const Sender = Identity

/** One durable message to one persona, as accepted. Immutable. */
export interface Signal {
  signal_id: SignalId
  to: Identity
  from: Identity
  origin: Origin
  intent: string
  topic?: string
  payload: Json
  priority: number
  reply_to?: Identity
  in_reply_to?: SignalId
  to_session?: SessionId
  broadcast_id?: string
  idempotency_key?: string
  /** For a broadcast with a key: SHA-256 of the whole request, including the recipients. */
  request_digest?: string
  created_at: Timestamp
  expires_at: Timestamp
}

/** Times of the stages of a signal's life; null for stages that were not observed. */
export const Stages = z
  .object({
    created_at: Timestamp,
    pushed_at: Timestamp.nullable(),
    rung_at: Timestamp.nullable(),
    seen_at: Timestamp.nullable(),
    drained_at: Timestamp.nullable(),
    confirmed_at: Timestamp.nullable(),
    completed_at: Timestamp.nullable(),
    /** Only for cancelled signals. */
    cancelled_at: Timestamp.optional(),
  })
  .meta({ title: 'Stages' })
export type Stages = z.infer<typeof Stages>

/** View in `signals read` and in the dashboard. */
export const SignalView = z
  .object({
    signal_id: SignalId,
    seq: z.number().int(),
    to: Identity,
    from: Sender,
    origin: Origin,
    intent: z.string(),
    topic: z.string().optional(),
    payload: Json,
    priority: z.number().int(),
    reply_to: Identity.optional(),
    in_reply_to: SignalId.optional(),
    to_session: SessionId.optional(),
    broadcast_id: Ulid.optional(),
    status: SignalStatus,
    deliveries: z.number().int(),
    expires_at: Timestamp,
    /** Session that holds the lease of a tentative ack. */
    leased_to: SessionId.optional(),
    drain_id: DrainId.optional(),
    result: Json.optional(),
    /** Present if `payload` is one part of the payload's text. */
    payload_part: PayloadPart.optional(),
    stages: Stages,
  })
  .meta({ title: 'SignalView' })
export type SignalView = z.infer<typeof SignalView>

/** A signal as returned by a drain. */
export const DrainedSignal = z
  .object({
    signal_id: SignalId,
    from: Sender,
    origin: Origin,
    to: Identity,
    intent: z.string(),
    topic: z.string().optional(),
    payload: Json,
    priority: z.number().int(),
    reply_to: Identity.optional(),
    in_reply_to: SignalId.optional(),
    created_at: Timestamp,
    /** Number of deliveries, including this drain: 1 is the first delivery, 0 in a peek before it. */
    deliveries: z.number().int(),
    /** Present if the client's bridge delivers the first part of the payload's text instead of the payload. */
    payload_part: PayloadPart.optional(),
  })
  .meta({ title: 'DrainedSignal' })
export type DrainedSignal = z.infer<typeof DrainedSignal>

export const DrainInput = z.strictObject({
  limit: z.number().int().min(1).max(LIMITS.drain_limit_max).default(LIMITS.drain_limit_default),
  peek: z.boolean().default(false),
  max_tokens: z.number().int().min(100).optional(),
  confirm: DrainId.optional(),
})
export type DrainInput = z.infer<typeof DrainInput>

/** Signal that an earlier session drained and did not complete. */
export const InProgressSignal = z
  .object({ signal_id: SignalId, from: Sender, intent: z.string(), drained_at: Timestamp })
  .meta({ title: 'InProgressSignal' })
export type InProgressSignal = z.infer<typeof InProgressSignal>
/** Signal that expired before it was drained. */
export const ExpiredSignal = z.object({
  signal_id: SignalId,
  from: Sender,
  intent: z.string(),
  expired_at: Timestamp,
})
export type ExpiredSignal = z.infer<typeof ExpiredSignal>

export const DrainResult = z.object({
  signals: z.array(DrainedSignal),
  remaining: z.number().int(),
  /** Signals that expired since the last drain; each is listed once. `replay` returns them to pending. */
  expired: z.array(ExpiredSignal).optional(),
  /** Null if nothing was leased: a peek, or an empty drain. */
  drain_id: DrainId.nullable(),
  /**
   * Only in the first drain of a new session: signals that earlier sessions drained in ended turns and did not
   * complete, newest first. At most `in_progress_shown_max` signals; `in_progress_count` counts all. Absent if there
   * are none.
   */
  in_progress: z.array(InProgressSignal).optional(),
  in_progress_count: z.number().int().optional(),
})
export type DrainResult = z.infer<typeof DrainResult>

/** Reason why a stored signal does not ring its recipient now. */
export const RouteReason = z.enum(['no_binding', 'stale', 'daemon_down', 'surface_absent'])
export type RouteReason = z.infer<typeof RouteReason>

export const Route = z.object({ live: z.boolean(), reason: RouteReason.nullable() }).meta({ title: 'Route' })
export type Route = z.infer<typeof Route>

export const SendInput = z.strictObject({
  to: Identity,
  intent: Intent,
  payload: Json.default(null),
  topic: Topic.optional(),
  priority: Priority.default(LIMITS.priority_default),
  reply_to: Identity.optional(),
  in_reply_to: SignalId.optional(),
  /** Default: 30 days for a signal from or to a person, otherwise `signals.ttl_s` of the configuration (24 h). */
  ttl_s: z.number().int().min(1).max(LIMITS.ttl_s_max).optional(),
  to_session: SessionId.optional(),
  require_live: z.boolean().default(false),
  idempotency_key: z.string().min(1).max(LIMITS.idempotency_key_length_max).optional(),
  /** Only for the operator; otherwise the token determines the sender. */
  from: Identity.optional(),
})
export type SendInput = z.infer<typeof SendInput>

/** Returned only after the signal is on disk. */
export const Receipt = z
  .object({
    signal_id: SignalId,
    durable: z.literal(true),
    seq: z.number().int(),
    status: SignalStatus,
    route: Route,
  })
  .meta({ title: 'Receipt' })
export type Receipt = z.infer<typeof Receipt>
