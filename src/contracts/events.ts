/** Facts of the one event stream (`GET /events`, WebSocket channels, the dashboard). */
import { z } from 'zod'
import { Json, Timestamp } from './ids.ts'

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
