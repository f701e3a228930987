/**
 * What the forms of the frames do not say by themselves: what each is for, what answers it, and how one
 * looks. A frame without its note is a type error.
 */
import { toProblem, TurnbellError } from '../../contracts/errors.ts'
import { HUB_EVENT_FAMILIES } from '../../contracts/events.ts'
import {
  PROTOCOL_VERSION,
  type ClientFrame,
  type ClientFrameOf,
  type HubFrame,
  type HubFrameOf,
} from '../../contracts/frames.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { inBytes, inSeconds } from '../units.ts'

interface FrameNote<F> {
  summary: string
  more?: string
  examples: readonly [F, ...F[]]
}

interface ClientFrameNote<F> extends FrameNote<F> {
  /** What the hub answers where it does not refuse; a refusal is always an `error`. */
  answered_by?: HubFrame['type']
}

const SIGNAL_ID = '01JZ0000000000000000000000'
const DOORBELL_ID = '01JZ0000000000000000000001'
const CLIENT_ID = '01JZ0000000000000000000002'
const EVENT_ID = '01JZ0000000000000000000003'
const INSTANCE = '01JZ0000000000000000000004'
const AT = '2026-01-31T12:00:00.000Z'

export const CLIENT_FRAME_NOTES: { [T in ClientFrame['type']]: ClientFrameNote<ClientFrameOf<T>> } = {
  hello: {
    summary: 'Says who is there. Must be the first frame.',
    more: `Due within ${inSeconds(LIMITS.hello_timeout_ms)}. \`token\` counts before the one that came with the request; the operator's may join as anybody, any other only as its own identity and kind. Whoever joins for a persona, a surface and a kind that are taken takes the place of the former holder. A channel that it may not listen to is refused with an \`error\`; it has joined all the same.`,
    answered_by: 'welcome',
    examples: [
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
    ],
  },
  heartbeat: {
    summary: 'A sign of life, with what the daemon knows of its surface and of itself.',
    more: `Every ${inSeconds(LIMITS.heartbeat_interval_ms)}, as the welcome says, and at once when the turn changes. A registration that is silent for ${inSeconds(LIMITS.registration_expire_ms)} expires. Not answered: send \`ping\` behind it to know that it was taken.`,
    examples: [
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
    ],
  },
  doorbell: {
    summary: 'How far a doorbell came. For people to see; it changes no signal.',
    more: 'For daemons only.',
    examples: [{ type: 'doorbell', doorbell_id: DOORBELL_ID, signal_id: SIGNAL_ID, stage: 'accepted' }],
  },
  'pending.peek': {
    summary: 'Asks what waits for the persona, without taking it.',
    answered_by: 'pending',
    examples: [{ type: 'pending.peek', id: 1 }],
  },
  subscribe: {
    summary: 'Listens to a channel from now on.',
    more: `At most ${LIMITS.subscriptions_max} at once.`,
    answered_by: 'result',
    examples: [{ type: 'subscribe', id: 2, channel: 'topics/deploys' }],
  },
  unsubscribe: {
    summary: 'Listens to a channel no longer.',
    answered_by: 'result',
    examples: [{ type: 'unsubscribe', id: 3, channel: 'topics/deploys' }],
  },
  publish: {
    summary: 'Tells everybody who listens to a channel now. Nothing is kept: what must arrive is a signal.',
    more: `\`data\` may have ${inBytes(LIMITS.payload_bytes_max)}. For agents and the operator. Names that begin as the hub's own events do are refused: ${HUB_EVENT_FAMILIES.map((family) => `\`${family}.\``).join(', ')}.`,
    answered_by: 'result',
    examples: [
      { type: 'publish', id: 4, channel: 'topics/deploys', event: 'deploy.done', data: { branch: 'main' } },
    ],
  },
  ack: {
    summary: 'Says that a critical event has arrived; until then it is sent again.',
    examples: [{ type: 'ack', message_id: EVENT_ID }],
  },
  call: {
    summary: 'Runs an action of a facade, as MCP and HTTP do.',
    more: `At most ${LIMITS.calls_underway_max} at once; they are answered in the order in which they end. \`context\` says where the call comes from, \`narrowing\` takes away from what it may reach. \`docs/reference.md\` and \`/openapi.json\` have every action with its parameters.`,
    answered_by: 'result',
    examples: [
      { type: 'call', id: 5, facade: 'signals', action: 'send', params: { to: 'ada', intent: 'review' } },
    ],
  },
  ping: { summary: 'Asks whether the hub is there.', answered_by: 'pong', examples: [{ type: 'ping' }] },
}

export const HUB_FRAME_NOTES: { [T in HubFrame['type']]: FrameNote<HubFrameOf<T>> } = {
  welcome: {
    summary: 'The hello was accepted.',
    more: '`GET /events?since=` with `resume_seq` tells what happens from here on.',
    examples: [
      {
        type: 'welcome',
        client_id: CLIENT_ID,
        heartbeat_interval_ms: LIMITS.heartbeat_interval_ms,
        resume_seq: 41,
      },
    ],
  },
  'signal.pushed': {
    summary: 'A signal waits for the persona. Never with its payload: a push is a doorbell.',
    examples: [
      {
        type: 'signal.pushed',
        signal_id: SIGNAL_ID,
        seq: 42,
        to: 'bob',
        from: 'ada',
        intent: 'review',
        priority: 3,
        pending_count: 1,
      },
    ],
  },
  'signal.drained': {
    summary: 'A session of the persona has taken signals.',
    examples: [{ type: 'signal.drained', signal_ids: [SIGNAL_ID], session_id: 's-1', pending_count: 0 }],
  },
  'signal.released': {
    summary: 'Signals that were taken, or finished, wait again.',
    examples: [{ type: 'signal.released', signal_ids: [SIGNAL_ID], pending_count: 1 }],
  },
  pending: {
    summary: 'What waits, highest priority first, then oldest.',
    more: '`total` counts also what the list leaves out; pushes up to `as_of_seq` are in it.',
    examples: [
      {
        type: 'pending',
        id: 1,
        signals: [{ signal_id: SIGNAL_ID, seq: 42, from: 'ada', intent: 'review', priority: 3 }],
        total: 1,
        as_of_seq: 42,
      },
    ],
  },
  'peer.joined': {
    summary: 'Somebody holds a registration of a persona from now on.',
    more: 'For the persona itself, and whoever listens to `global` or to its channels.',
    examples: [{ type: 'peer.joined', identity: 'bob', surface: 'codex', kind: 'agent', session_id: 's-1' }],
  },
  'peer.left': {
    summary: 'A registration ended.',
    more: 'For the same as `peer.joined`.',
    examples: [
      {
        type: 'peer.left',
        identity: 'bob',
        surface: 'codex',
        kind: 'agent',
        session_id: 's-1',
        reason: 'expire',
      },
    ],
  },
  'lifecycle.shutdown': {
    summary: 'The link ends soon: the hub stops, or the persona was wrapped or removed.',
    more: 'Calls that run are still answered; new ones are refused.',
    examples: [{ type: 'lifecycle.shutdown', reason: 'stopping' }],
  },
  event: {
    summary: 'Something happened on a channel that the client listens to.',
    more: '`data` has the form that its publisher gave it. A daemon also gets, without listening, `signal.expired`, `signal.completed` and `signal.confirmed` with `signal_ids` and `pending_count` when signals left its queue that nobody drained.',
    examples: [
      {
        type: 'event',
        id: EVENT_ID,
        channel: 'topics/deploys',
        event: 'deploy.done',
        data: { branch: 'main' },
        timestamp: AT,
      },
    ],
  },
  result: {
    summary: 'The answer to the frame with this `id`.',
    more: 'To `subscribe` and `unsubscribe` with `channel` and `subscribed`, to `publish` with `message_id`, to `call` with the output of the action as `result`.',
    examples: [
      { type: 'result', id: 2, channel: 'topics/deploys', subscribed: true },
      { type: 'result', id: 4, message_id: EVENT_ID },
      { type: 'result', id: 5, result: { signal_id: SIGNAL_ID, durable: true, seq: 43, status: 'pending' } },
    ],
  },
  error: {
    summary: 'A frame was refused: the problem of every other door, with `type` as the type of the frame.',
    more: 'With the `id` of the refused frame where that had one. The link lives on, unless a close follows.',
    examples: [
      {
        ...toProblem(new TurnbellError('target_unknown', { detail: 'There is no persona ada.' }), INSTANCE),
        type: 'error',
        id: 5,
      },
    ],
  },
  pong: { summary: 'The answer to `ping`.', examples: [{ type: 'pong' }] },
}
