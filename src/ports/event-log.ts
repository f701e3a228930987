/** The hub's event stream: append-only, bounded, readable from any position. */
import type { HubEvent, NewHubEvent } from '../contracts/events.ts'

export interface EventQuery {
  /** Events after this seq, or after this ISO time of any zone and precision. */
  since?: number | string
  /** Events about this agent, or caused by a caller of this name. */
  agent_id?: string
  /** Events of this run. */
  run_id?: string
  /** An exact type, or a prefix that ends with `.`. */
  type?: string
  limit: number
}

/** Written lazily: a crash may lose the newest events, but no seq is ever reused. */
export interface EventLog {
  /** Assigns seq and time and calls every watcher before it returns. */
  append(event: NewHubEvent): HubEvent
  /** Returns stored events, oldest first. `next` is the `since` of the next page, never beyond the end. */
  read(query: EventQuery): { events: HubEvent[]; next: number }
  /** Resolves when appended events survive a kill of this process, unless the log cannot be written. */
  written(): Promise<void>
  watch(onEvent: (event: HubEvent) => void): () => void
  close(): Promise<void>
}
