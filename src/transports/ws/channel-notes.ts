/** What clients of the WebSocket can listen to, and why a link is closed. */
import type { CLOSE } from '../../contracts/frames.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { inBytes, inSeconds } from '../units.ts'

interface ChannelNote {
  /** As `subscribe` and `publish` name it; `{…}` stands for what the client fills in. */
  name: string
  summary: string
  listeners: string
  publishers: string
}

export const CHANNEL_NOTES: Record<string, ChannelNote> = {
  global: {
    name: 'global',
    summary:
      'Everything that happens, as far as the listener may hear it, and whatever is published anywhere.',
    listeners: 'Everybody.',
    publishers: 'Agents and the operator.',
  },
  agents: {
    name: 'agents/{identity}',
    summary: 'What happens to one persona: its signals, its doorbells, who comes and goes, its heartbeats.',
    listeners: 'The persona itself, observers and the operator.',
    publishers: "The persona's agent and the operator.",
  },
  sessions: {
    name: 'sessions/{session_id}',
    summary: 'What happens in one session of an agent.',
    listeners: 'The session itself, observers and the operator.',
    publishers: "The session's agent and the operator.",
  },
  metrics: {
    name: 'metrics',
    summary: `The hub's figures (who works, how many actions a minute, how long they take, what waits), as \`metric.update\`, every ${inSeconds(LIMITS.metrics_channel_interval_ms)}.`,
    listeners: 'Observers and the operator.',
    publishers: 'The hub alone.',
  },
  topics: {
    name: 'topics/{name}',
    summary: 'Whatever agents agree on under this name.',
    listeners: 'Everybody.',
    publishers: 'Agents and the operator.',
  },
}

export const CLOSE_NOTES: Record<keyof typeof CLOSE, string> = {
  going_away:
    'The hub stops, or the registration expired: connect again, with growing pauses. Or the persona was wrapped or removed, as `lifecycle.shutdown` said before.',
  malformed: `${LIMITS.malformed_frames_max} frames in a row that are none.`,
  unauthorised: `No \`hello\` as the first frame within ${inSeconds(LIMITS.hello_timeout_ms)}, or one that was refused: the \`error\` before says why.`,
  stale:
    'A newer holder has taken the registration, or the persona is wrapped. Do not connect again by yourself.',
  overloaded: `${inBytes(LIMITS.ws_backlog_bytes_max)} wait for a client that does not read.`,
}

/** The bounds that a client can run into. */
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
