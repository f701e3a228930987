/** The hub's one stream of facts: append-only, bounded, readable from any position. */
import type { HubEvent, NewHubEvent } from '../contracts/events.ts'

export interface EventQuery {
  /** Events after this seq, or after this ISO time. */
  since?: number | string
  agent_id?: string
  /** An exact type, or a prefix that ends with `.`. */
  type?: string
  limit: number
}

export interface EventLog {
  /** Gives the event its seq and time and hands it to every watcher before it returns. */
  append(event: NewHubEvent): HubEvent
  /** Oldest first. `next` is the seq to go on from. */
  read(query: EventQuery): { events: HubEvent[]; next: number }
  watch(onEvent: (event: HubEvent) => void): () => void
  close(): Promise<void>
}
