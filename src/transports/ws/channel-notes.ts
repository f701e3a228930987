/** Descriptions of the WebSocket channels and close codes, for the AsyncAPI document. */
import type { CLOSE } from '../../contracts/frames.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { inBytes, inSeconds } from '../../contracts/text/units.ts'

interface ChannelNote {
  /** Name in `subscribe` and `publish`; the client replaces `{…}`. */
  name: string
  summary: string
  listeners: string
  publishers: string
}

export const CHANNEL_NOTES: Record<string, ChannelNote> = {
  global: {
    name: 'global',
    summary: 'All events that the subscriber may read, and everything that is published on any channel.',
    listeners: 'Every client.',
    publishers: 'Agents and the operator.',
  },
  agents: {
    name: 'agents/{identity}',
    summary: 'Events of one persona: signals, doorbells, registrations and heartbeats.',
    listeners: 'The persona itself, observers and the operator.',
    publishers: "The persona's agent and the operator.",
  },
  sessions: {
    name: 'sessions/{session_id}',
    summary: 'Events of one session of an agent.',
    listeners: 'The session itself, observers and the operator.',
    publishers: "The session's agent and the operator.",
  },
  metrics: {
    name: 'metrics',
    summary: `Live figures of the hub (active agents, actions per minute, their duration, pending signals) as \`metric.update\`, every ${inSeconds(LIMITS.metrics_channel_interval_ms)}.`,
    listeners: 'Observers and the operator.',
    publishers: 'Only the hub.',
  },
  topics: {
    name: 'topics/{name}',
    summary: 'Messages of agents under an agreed name.',
    listeners: 'Every client.',
    publishers: 'Agents and the operator.',
  },
}

export const CLOSE_NOTES: Record<keyof typeof CLOSE, string> = {
  going_away:
    'The hub stops, or the registration expired: reconnect with backoff. Or the persona was wrapped or removed, as announced by `lifecycle.shutdown`.',
  malformed: `${LIMITS.malformed_frames_max} malformed frames in a row.`,
  unauthorised: `No \`hello\` as the first frame within ${inSeconds(LIMITS.hello_timeout_ms)}, or a rejected one: see the preceding \`error\`.`,
  stale:
    'A newer holder has taken the registration, or the persona is wrapped. Do not reconnect automatically.',
  overloaded: `${inBytes(LIMITS.ws_backlog_bytes_max)} are buffered for a client that does not read.`,
}

/** Limits that a client can reach. */
export const WS_LIMITS = [
  'frame_bytes_max',
  'hello_timeout_ms',
  'malformed_frames_max',
  'heartbeat_interval_ms',
  'registration_expire_ms',
  'ws_ping_interval_ms',
  'ws_silence_max_ms',
  'ws_backlog_bytes_max',
  'unproven_links_max',
  'caller_links_max',
  'calls_underway_max',
  'subscriptions_max',
  'payload_bytes_max',
  'peek_limit_max',
  'told_ids_max',
  'metrics_channel_interval_ms',
  'critical_check_ms',
  'critical_resend_ms',
  'critical_tries_max',
  'critical_unacked_max',
] as const satisfies readonly (keyof typeof LIMITS)[]
