/** The hub's one stream of facts: append-only, bounded, readable from any position. */
import type { HubEvent, NewHubEvent } from '../contracts/events.ts'

export interface EventQuery {
  /** Events after this seq, or after this ISO time, of whatever zone and precision. */
  since?: number | string
  /** Of what is about this agent, or was done by whoever calls itself so. */
  agent_id?: string
  /** Of what was done in this run. */
  run_id?: string
  /** An exact type, or a prefix that ends with `.`. */
  type?: string
  limit: number
}

/** Kept lazily: a crash may lose the newest events, but no seq is ever given out twice. */
export interface EventLog {
  /** Gives the event its seq and time and hands it to every watcher before it returns. */
  append(event: NewHubEvent): HubEvent
  /** Oldest first, of those that are still kept. `next` is the `since` of the next page, and never beyond the end. */
  read(query: EventQuery): { events: HubEvent[]; next: number }
  /**
   * Resolves when what was appended is where a kill of this process cannot take it, as far as the log can be written.
   */
  written(): Promise<void>
  watch(onEvent: (event: HubEvent) => void): () => void
  close(): Promise<void>
}
