/**
 * WebSocket frames, one union per direction, discriminated on `type`: JSON text frames of at most
 * `LIMITS.frame_bytes_max` bytes. A client must send `hello` first.
 */
import * as z from 'zod'
import { Problem, toProblem, TurnbellError } from './errors/errors.ts'
import { HUB_EVENT_FAMILIES } from './events.ts'
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
import { LIMITS } from './limits/limits.ts'
import { MetricsSet } from './metrics.ts'
import { LeaveReason, SurfaceFacts } from './registry.ts'
import { inBytes, inSeconds } from './text/units.ts'

/** Chosen by the client, echoed in the response. */
export const RequestId = z.union([z.string().min(1).max(64), z.number().int()])

export const PROTOCOL_VERSION = 1

/** Application close codes, in the range 4000 to 4999 of RFC 6455. */
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

/** Prefixes of events that are redelivered until the client acknowledges them. */
export const CRITICAL_EVENTS = ['task.', 'subtask.', 'message.'] as const

/** Adds the description and the examples that the generated documents contain. The first sentence is the summary. */
function described<T extends z.ZodType>(frame: T, description: string, ...examples: z.input<T>[]): T {
  return frame.meta({ description, examples })
}

const EXAMPLE = {
  signal_id: '01JZ0000000000000000000000',
  doorbell_id: '01JZ0000000000000000000001',
  client_id: '01JZ0000000000000000000002',
  event_id: '01JZ0000000000000000000003',
  instance: '01JZ0000000000000000000004',
  at: '2026-01-31T12:00:00.000Z',
} as const

export const ClientFrame = z.discriminatedUnion('type', [
  described(
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
    `Identifies the client. Must be the first frame, within ${inSeconds(LIMITS.hello_timeout_ms)}. \`token\` overrides the token of the request. The operator's token may join with any identity and kind; any other token only with its own. If another client is registered for the same persona, surface and kind, this one replaces it. A channel that the client may not subscribe to is refused with an \`error\`, and the client has still joined.`,
    {
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      kind: 'daemon',
      identity: 'bob',
      surface: 'codex',
      session_id: 'd-7',
    },
    {
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      kind: 'observer',
      identity: 'operator',
      channels: ['global', 'metrics'],
    },
  ),
  described(
    z.strictObject({
      type: z.literal('heartbeat'),
      seq: z.number().int().min(0),
      surface: SurfaceFacts.optional(),
      metrics: MetricsSet.optional(),
    }),
    `Keeps the registration alive and reports the daemon's surface and metrics. Sent every ${inSeconds(LIMITS.heartbeat_interval_ms)}, as the welcome requests, and at once when the turn changes. A registration that is silent for ${inSeconds(LIMITS.registration_expire_ms)} expires. There is no response: send \`ping\` after it to confirm that it was accepted.`,
    {
      type: 'heartbeat',
      seq: 12,
      surface: { attached: true, session_id: 's-1', turn: 'idle', turn_seq: 4 },
      metrics: {
        up: 1,
        heartbeat_age_seconds: 0.2,
        drain_age_seconds: null,
        signal_queue_depth: 1,
        errors_total: { surface_unavailable: 1 },
        last_error_timestamp_seconds: { surface_unavailable: 1_769_860_800 },
      },
    },
  ),
  described(
    z.strictObject({
      type: z.literal('doorbell'),
      doorbell_id: DoorbellId,
      signal_id: SignalId,
      stage: z.enum(['requested', 'accepted', 'seen']),
    }),
    'Reports the stage that a doorbell reached. For daemons only. It is shown to people and changes no signal.',
    { type: 'doorbell', doorbell_id: EXAMPLE.doorbell_id, signal_id: EXAMPLE.signal_id, stage: 'accepted' },
  ),
  described(
    z.strictObject({
      type: z.literal('pending.peek'),
      id: RequestId,
      limit: z.number().int().min(1).max(LIMITS.peek_limit_max).optional(),
    }),
    'Lists the pending signals of the persona without draining them.',
    { type: 'pending.peek', id: 1 },
  ),
  described(
    z.strictObject({ type: z.literal('subscribe'), id: RequestId, channel: Channel }),
    `Subscribes to a channel. At most ${LIMITS.subscriptions_max} channels at once.`,
    { type: 'subscribe', id: 2, channel: 'topics/deploys' },
  ),
  described(
    z.strictObject({ type: z.literal('unsubscribe'), id: RequestId, channel: Channel }),
    'Ends the subscription to a channel.',
    { type: 'unsubscribe', id: 3, channel: 'topics/deploys' },
  ),
  described(
    z.strictObject({
      type: z.literal('publish'),
      id: RequestId,
      channel: Channel,
      event: z.string().min(1).max(64),
      data: Json,
    }),
    `Publishes an event to the current subscribers of a channel. Events are not stored: send a signal if it must arrive. \`data\` is limited to ${inBytes(LIMITS.payload_bytes_max)}. For agents and the operator. Names in the families of the hub's own events are refused: ${HUB_EVENT_FAMILIES.map((family) => `\`${family}.\``).join(', ')}.`,
    { type: 'publish', id: 4, channel: 'topics/deploys', event: 'deploy.done', data: { branch: 'main' } },
  ),
  described(
    z.strictObject({ type: z.literal('ack'), message_id: z.string().min(1).max(64) }),
    'Acknowledges a critical event, which is sent again until then.',
    { type: 'ack', message_id: EXAMPLE.event_id },
  ),
  described(
    z.strictObject({
      type: z.literal('call'),
      id: RequestId,
      facade: z.string().min(1).max(64),
      action: z.string().min(1).max(64),
      // Validated by the schema of the action.
      params: z.looseObject({}).optional(),
      context: CallerContext.optional(),
      narrowing: Narrowing.optional(),
    }),
    `Runs an action of a facade, like MCP and HTTP. At most ${LIMITS.calls_underway_max} calls at once; they are answered in the order in which they end. \`context\` contains the origin of the call; \`narrowing\` restricts what it may use. \`docs/reference/actions.md\` and \`/openapi.json\` contain every action with its parameters.`,
    { type: 'call', id: 5, facade: 'signals', action: 'send', params: { to: 'ada', intent: 'review' } },
  ),
  described(z.strictObject({ type: z.literal('ping') }), 'Checks that the hub responds.', { type: 'ping' }),
])
export type ClientFrame = z.infer<typeof ClientFrame>
export type ClientFrameOf<T extends ClientFrame['type']> = Extract<ClientFrame, { type: T }>

/** Metadata of a pending signal, without its payload. */
export const PendingEntry = z.object({
  signal_id: SignalId,
  seq: z.number().int(),
  from: z.string(),
  intent: z.string(),
  priority: z.number().int(),
})
export type PendingEntry = z.infer<typeof PendingEntry>

const peer = { identity: Identity, surface: SurfaceKind, kind: RegistrationKind, session_id: SessionId }

/** Number of signals of the persona that were drained in ended turns and are not completed. */
const in_progress_count = z.number().int().optional()

export const HubFrame = z.discriminatedUnion('type', [
  described(
    z.object({
      type: z.literal('welcome'),
      client_id: z.string(),
      heartbeat_interval_ms: z.number().int(),
      resume_seq: z.number().int(),
    }),
    'Confirms the hello. `GET /events?since=` with `resume_seq` returns the events from here on.',
    {
      type: 'welcome',
      client_id: EXAMPLE.client_id,
      heartbeat_interval_ms: LIMITS.heartbeat_interval_ms,
      resume_seq: 41,
    },
  ),
  described(
    z.strictObject({
      type: z.literal('signal.pushed'),
      ...PendingEntry.shape,
      to: Identity,
      pending_count: z.number().int(),
      in_progress_count,
    }),
    'Reports a new pending signal of the persona. It never contains the payload: a push is a doorbell.',
    {
      type: 'signal.pushed',
      signal_id: EXAMPLE.signal_id,
      seq: 42,
      to: 'bob',
      from: 'ada',
      intent: 'review',
      priority: 3,
      pending_count: 1,
    },
  ),
  described(
    z.object({
      type: z.literal('signal.drained'),
      signal_ids: z.array(SignalId),
      session_id: SessionId,
      pending_count: z.number().int(),
      in_progress_count,
    }),
    'Reports that a session of the persona drained signals.',
    { type: 'signal.drained', signal_ids: [EXAMPLE.signal_id], session_id: 's-1', pending_count: 0 },
  ),
  described(
    z.object({
      type: z.literal('signal.released'),
      signal_ids: z.array(SignalId),
      pending_count: z.number().int(),
      in_progress_count,
    }),
    'Reports that drained or completed signals are pending again.',
    { type: 'signal.released', signal_ids: [EXAMPLE.signal_id], pending_count: 1 },
  ),
  described(
    z.object({
      type: z.literal('pending'),
      id: RequestId,
      signals: z.array(PendingEntry),
      total: z.number().int(),
      as_of_seq: z.number().int(),
      in_progress_count,
    }),
    'Lists the pending signals, highest priority first, then oldest. `total` also counts the signals beyond the list; pushes up to `as_of_seq` are included.',
    {
      type: 'pending',
      id: 1,
      signals: [{ signal_id: EXAMPLE.signal_id, seq: 42, from: 'ada', intent: 'review', priority: 3 }],
      total: 1,
      as_of_seq: 42,
    },
  ),
  described(
    z.object({ type: z.literal('peer.joined'), ...peer }),
    'Reports a new registration of a persona. Sent to the persona itself and to the subscribers of `global` and of its channels.',
    { type: 'peer.joined', identity: 'bob', surface: 'codex', kind: 'agent', session_id: 's-1' },
  ),
  described(
    z.object({ type: z.literal('peer.left'), ...peer, reason: LeaveReason }),
    'Reports the end of a registration. Sent to the same clients as `peer.joined`.',
    {
      type: 'peer.left',
      identity: 'bob',
      surface: 'codex',
      kind: 'agent',
      session_id: 's-1',
      reason: 'expire',
    },
  ),
  described(
    z.object({ type: z.literal('lifecycle.shutdown'), reason: z.string() }),
    'Announces the end of the link: the hub stops, or the persona was wrapped or removed. Running calls are still answered; new ones are refused.',
    { type: 'lifecycle.shutdown', reason: 'stopping' },
  ),
  described(
    z.object({
      type: z.literal('event'),
      id: z.string(),
      channel: z.string(),
      event: z.string(),
      data: Json,
      timestamp: Timestamp,
    }),
    'Reports an event on a subscribed channel. `data` has the form that its publisher used. A daemon also receives, without a subscription, `signal.expired`, `signal.completed` and `signal.confirmed` with `signal_ids` and `pending_count` when signals leave its queue without a drain.',
    {
      type: 'event',
      id: EXAMPLE.event_id,
      channel: 'topics/deploys',
      event: 'deploy.done',
      data: { branch: 'main' },
      timestamp: EXAMPLE.at,
    },
  ),
  described(
    z.looseObject({ type: z.literal('result'), id: RequestId }),
    'Answers the frame with this `id`. `subscribe` and `unsubscribe` return `channel` and `subscribed`, `publish` returns `message_id`, and `call` returns the output of the action as `result`.',
    { type: 'result', id: 2, channel: 'topics/deploys', subscribed: true },
    { type: 'result', id: 4, message_id: EXAMPLE.event_id },
    {
      type: 'result',
      id: 5,
      result: { signal_id: EXAMPLE.signal_id, durable: true, seq: 43, status: 'pending' },
    },
  ),
  // A problem without its own `type`, because the frame's discriminator has that name; `code` identifies it.
  described(
    z.object({ ...Problem.shape, type: z.literal('error'), id: RequestId.optional() }),
    'Refuses a frame: the same problem object as over HTTP, with `type` as the type of the frame. It has the `id` of the refused frame if there was one. The link stays open unless a close follows.',
    {
      ...toProblem(
        new TurnbellError('target_unknown', { detail: 'There is no persona ada.' }),
        EXAMPLE.instance,
      ),
      type: 'error',
      id: 5,
    },
  ),
  described(z.object({ type: z.literal('pong') }), 'Answers `ping`.', { type: 'pong' }),
])
export type HubFrame = z.infer<typeof HubFrame>

/**
 * Event to every daemon of a persona, subscribed or not, when signals left its queue without a drain. No doorbell
 * counts as answered by it.
 */
export const SignalsGone = z.object({
  type: z.literal('event'),
  event: z.enum(['signal.expired', 'signal.completed', 'signal.confirmed', 'signal.cancelled']),
  data: z.object({ signal_ids: z.array(SignalId), pending_count: z.number().int() }),
})
export type SignalsGone = z.infer<typeof SignalsGone>

/** Event to every daemon of a persona when its number of signals in progress may have changed. */
export const InProgressChanged = z.object({
  type: z.literal('event'),
  event: z.literal('signal.in_progress'),
  data: z.object({ in_progress_count: z.number().int() }),
})
export type InProgressChanged = z.infer<typeof InProgressChanged>
export type HubFrameOf<T extends HubFrame['type']> = Extract<HubFrame, { type: T }>
