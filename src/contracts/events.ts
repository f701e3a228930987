/** Events of the event stream (`GET /events`, WebSocket channels, the dashboard). */
import * as z from 'zod'
import { Json, Timestamp } from './ids.ts'

/**
 * Event families reserved for the hub. Clients cannot publish them, because a frame has no sender and would look like
 * the hub's.
 */
export const HUB_EVENT_FAMILIES: readonly string[] = [
  ...[
    'activity',
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
  /** Persona that the event is about, if any. */
  agent_id: z.string().nullable(),
  data: z.record(z.string(), Json),
})
export type HubEvent = z.infer<typeof HubEvent>
export type NewHubEvent = Omit<HubEvent, 'seq' | 'timestamp'>
