/** Facts of the one event stream (`GET /events`, WebSocket channels, the dashboard). */
import * as z from 'zod'
import { Json, Timestamp } from './ids.ts'

/**
 * The first words of what the hub itself says, in the stream and on channels. Nobody publishes under them:
 * a frame names no sender, so whoever reads one would take it for the hub's.
 */
export const HUB_EVENT_FAMILIES: readonly string[] = [
  ...[
    'agent',
    'context',
    'coordinator',
    'dispatch',
    'doorbell',
    'error',
    'hook',
    'hub',
    'lease',
    'lifecycle',
    'metric',
  ],
  ...['memory', 'peer', 'persona', 'record', 'result', 'signal'],
]

/** `signal.*`, `record.*`, `peer.*`, `persona.*`, `doorbell.*`, `dispatch`, `result`, `error`, … */
export const EventType = z.string().regex(/^[a-z][a-z_]*(\.[a-z][a-z_]*)*$/)

export const HubEvent = z.object({
  seq: z.number().int(),
  type: EventType,
  timestamp: Timestamp,
  /** Whom it is about, where it is about a persona. */
  agent_id: z.string().nullable(),
  data: z.record(z.string(), Json),
})
export type HubEvent = z.infer<typeof HubEvent>
export type NewHubEvent = Omit<HubEvent, 'seq' | 'timestamp'>
