/** A signal and its life: pending, acked, completed, expired, cancelled, dead. */
import * as z from 'zod'
import { DrainId, Identity, Json, SessionId, SignalId, Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'
import { PayloadPart } from './signal-parts.ts'

/**
 * - `pending`: on disk, not drained.
 * - `acked`: drained. Tentative while it has a lease: a lost lease takes it back to `pending`.
 * - `completed`: the recipient said it is handled.
 * - `expired`: nobody drained it within its ttl; `replay` puts it back.
 * - `cancelled`: its sender or the operator took it back while it was pending.
 * - `dead`: came back more than `deliveries_max` times; kept until somebody replays it.
 */
export const SignalStatus = z.enum(['pending', 'acked', 'completed', 'expired', 'cancelled', 'dead'])
export type SignalStatus = z.infer<typeof SignalStatus>

/** Told from the sender's token, never from a parameter. */
export const Origin = z.enum(['human', 'agent', 'system'])
export type Origin = z.infer<typeof Origin>

export const Priority = z.number().int().min(LIMITS.priority_min).max(LIMITS.priority_max)

/** What the signal is about, as an identifier: it appears in the doorbell's text. */
export const Intent = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,${LIMITS.intent_length_max - 1}}$`),
    'an intent matches [A-Za-z0-9][A-Za-z0-9._:/-]{0,63}',
  )
export const Topic = z.string().min(1).max(LIMITS.topic_length_max)

/** Senders that are no persona use the reserved identities `operator` and `turnbell`. */
export const Sender = Identity

/** One durable message to one persona, as it was accepted. Never changes afterwards. */
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
  /** Of a broadcast with a key: SHA-256 of the whole request, recipients included. */
  request_digest?: string
  created_at: Timestamp
  expires_at: Timestamp
}

/** The stages of a signal's life as times; a stage nobody observed is null. */
export const Stages = z
  .object({
    created_at: Timestamp,
    pushed_at: Timestamp.nullable(),
    rung_at: Timestamp.nullable(),
    seen_at: Timestamp.nullable(),
    drained_at: Timestamp.nullable(),
    confirmed_at: Timestamp.nullable(),
    completed_at: Timestamp.nullable(),
    /** Only of a cancelled signal. */
    cancelled_at: Timestamp.optional(),
  })
  .meta({ title: 'Stages' })
export type Stages = z.infer<typeof Stages>

/** What `signals read` and the dashboard show. */
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
    /** The session that holds the lease of a tentative ack. */
    leased_to: SessionId.optional(),
    drain_id: DrainId.optional(),
    result: Json.optional(),
    /** Set where `payload` is one part of the payload's text. */
    payload_part: PayloadPart.optional(),
    stages: Stages,
  })
  .meta({ title: 'SignalView' })
export type SignalView = z.infer<typeof SignalView>

/** One signal as the agent receives it from a drain. */
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
    /** How often it was handed out, by a drain this time included: 1 is the first delivery, 0 in a peek before it. */
    deliveries: z.number().int(),
    /** Set where the client's bridge hands over the first part of the payload's text in place of the payload. */
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

/** A signal that an earlier session drained and did not complete. */
export const InProgressSignal = z
  .object({ signal_id: SignalId, from: Sender, intent: z.string(), drained_at: Timestamp })
  .meta({ title: 'InProgressSignal' })
export type InProgressSignal = z.infer<typeof InProgressSignal>
/** A signal that expired before its recipient drained it. */
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
  /** Signals that expired since the last drain; each is named once. `replay` puts them back. */
  expired: z.array(ExpiredSignal).optional(),
  /** Null when nothing was leased: a peek, or an empty drain. */
  drain_id: DrainId.nullable(),
  /**
   * Told once, with the first drain of a new session: what earlier sessions of the persona drained in turns that ended and
   * did not complete, the last sent first. At most `in_progress_shown_max` signals; `in_progress_count` counts the others
   * too. Absent where there are none.
   */
  in_progress: z.array(InProgressSignal).optional(),
  in_progress_count: z.number().int().optional(),
})
export type DrainResult = z.infer<typeof DrainResult>

/** Why a send is durable and yet nobody will be rung for it now. */
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
  /** 30 days for what a person sends or is sent, else `signals.ttl_s` of the configuration (24 h). */
  ttl_s: z.number().int().min(1).max(LIMITS.ttl_s_max).optional(),
  to_session: SessionId.optional(),
  require_live: z.boolean().default(false),
  idempotency_key: z.string().min(1).max(LIMITS.idempotency_key_length_max).optional(),
  /** Only the operator may set it; for everybody else the token says who sends. */
  from: Identity.optional(),
})
export type SendInput = z.infer<typeof SendInput>

/** Leaves only after the signal's bytes are on disk. */
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
