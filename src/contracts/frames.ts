/**
 * Every WebSocket frame, one union per direction, discriminated on `type`. JSON text frames, at most
 * `LIMITS.frame_bytes_max` bytes. `hello` must be a client's first.
 */
import * as z from 'zod'
import { Problem } from './errors.ts'
import { CallerContext, Narrowing } from './http.ts'
import {
  DoorbellId,
  Identity,
  Json,
  RegistrationKind,
  SessionId,
  SignalId,
  SurfaceKind,
  Timestamp,
} from './ids.ts'
import { LIMITS } from './limits.ts'
import { MetricsSet } from './metrics.ts'
import { LeaveReason, SurfaceFacts } from './registry.ts'

/** Chosen by the client, echoed in the answer. */
export const RequestId = z.union([z.string().min(1).max(64), z.number().int()])

export const PROTOCOL_VERSION = 1

/** Application close codes (RFC 6455 leaves 4000 to 4999 to us). */
export const CLOSE = {
  malformed: 4400,
  unauthorised: 4401,
  stale: 4409,
  overloaded: 4429,
  going_away: 1001,
} as const

export const Channel = z
  .string()
  .regex(
    /^(global|metrics|agents\/[a-z0-9][a-z0-9._-]{0,62}|sessions\/.{1,128}|topics\/[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/,
    'a channel is global, metrics, agents/<identity>, sessions/<session_id> or topics/<name>',
  )

/** Events whose names begin so are sent again until the client acknowledges them. */
export const CRITICAL_EVENTS = ['task.', 'subtask.', 'message.'] as const

export const ClientFrame = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    protocol: z.literal(PROTOCOL_VERSION),
    kind: RegistrationKind,
    identity: Identity,
    surface: SurfaceKind.optional(),
    session_id: SessionId.optional(),
    token: z.string().optional(),
    channels: z.array(Channel).max(LIMITS.subscriptions_max).optional(),
  }),
  z.strictObject({
    type: z.literal('heartbeat'),
    seq: z.number().int().min(0),
    surface: SurfaceFacts.optional(),
    metrics: MetricsSet.optional(),
  }),
  z.strictObject({
    type: z.literal('doorbell'),
    doorbell_id: DoorbellId,
    signal_id: SignalId,
    stage: z.enum(['requested', 'accepted', 'seen']),
  }),
  z.strictObject({
    type: z.literal('pending.peek'),
    id: RequestId,
    limit: z.number().int().min(1).max(LIMITS.peek_limit_max).optional(),
  }),
  z.strictObject({ type: z.literal('subscribe'), id: RequestId, channel: Channel }),
  z.strictObject({ type: z.literal('unsubscribe'), id: RequestId, channel: Channel }),
  z.strictObject({
    type: z.literal('publish'),
    id: RequestId,
    channel: Channel,
    event: z.string().min(1).max(64),
    data: Json,
  }),
  z.strictObject({ type: z.literal('ack'), message_id: z.string().min(1).max(64) }),
  z.strictObject({
    type: z.literal('call'),
    id: RequestId,
    facade: z.string().min(1).max(64),
    action: z.string().min(1).max(64),
    // What is in it the schema of the action judges; it came as JSON, so there is nothing to find out before.
    params: z.looseObject({}).optional(),
    context: CallerContext.optional(),
    narrowing: Narrowing.optional(),
  }),
  z.strictObject({ type: z.literal('ping') }),
])
export type ClientFrame = z.infer<typeof ClientFrame>
export type ClientFrameOf<T extends ClientFrame['type']> = Extract<ClientFrame, { type: T }>

/** Metadata of a waiting signal. Never a payload: a push is a doorbell. */
export const PendingEntry = z.object({
  signal_id: SignalId,
  seq: z.number().int(),
  from: z.string(),
  intent: z.string(),
  priority: z.number().int(),
})
export type PendingEntry = z.infer<typeof PendingEntry>

const peer = { identity: Identity, surface: SurfaceKind, kind: RegistrationKind, session_id: SessionId }

/** Signals of the persona that were drained in turns that ended and are not completed. */
const in_progress_count = z.number().int().optional()

export const HubFrame = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    client_id: z.string(),
    heartbeat_interval_ms: z.number().int(),
    resume_seq: z.number().int(),
  }),
  z.strictObject({
    type: z.literal('signal.pushed'),
    ...PendingEntry.shape,
    to: Identity,
    pending_count: z.number().int(),
    in_progress_count,
  }),
  z.object({
    type: z.literal('signal.drained'),
    signal_ids: z.array(SignalId),
    session_id: SessionId,
    pending_count: z.number().int(),
    in_progress_count,
  }),
  z.object({
    type: z.literal('signal.released'),
    signal_ids: z.array(SignalId),
    pending_count: z.number().int(),
    in_progress_count,
  }),
  z.object({
    type: z.literal('pending'),
    id: RequestId,
    signals: z.array(PendingEntry),
    total: z.number().int(),
    as_of_seq: z.number().int(),
    in_progress_count,
  }),
  z.object({ type: z.literal('peer.joined'), ...peer }),
  z.object({ type: z.literal('peer.left'), ...peer, reason: LeaveReason }),
  z.object({ type: z.literal('lifecycle.shutdown'), reason: z.string() }),
  z.object({
    type: z.literal('event'),
    id: z.string(),
    channel: z.string(),
    event: z.string(),
    data: Json,
    timestamp: Timestamp,
  }),
  z.looseObject({ type: z.literal('result'), id: RequestId }),
  // A problem without its own `type`: the frame's discriminator has that name; `code` says the same.
  z.object({ ...Problem.shape, type: z.literal('error'), id: RequestId.optional() }),
  z.object({ type: z.literal('pong') }),
])
export type HubFrame = z.infer<typeof HubFrame>

/**
 * The `event` frame that every daemon of a persona gets, subscribed or not, when signals left its queue
 * without a drain: nobody took them, so they answer no bell.
 */
export const SignalsGone = z.object({
  type: z.literal('event'),
  event: z.enum(['signal.expired', 'signal.completed', 'signal.confirmed', 'signal.cancelled']),
  data: z.object({ signal_ids: z.array(SignalId), pending_count: z.number().int() }),
})
export type SignalsGone = z.infer<typeof SignalsGone>

/** The `event` frame that every daemon of a persona gets when its number of signals in progress may have changed. */
export const InProgressChanged = z.object({
  type: z.literal('event'),
  event: z.literal('signal.in_progress'),
  data: z.object({ in_progress_count: z.number().int() }),
})
export type InProgressChanged = z.infer<typeof InProgressChanged>
export type HubFrameOf<T extends HubFrame['type']> = Extract<HubFrame, { type: T }>
