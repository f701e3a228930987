/** Interface of a part of the hub, and of its periodic work. */
import type { Identity, SessionId } from '../contracts/ids.ts'
import type { HubListener } from './bus.ts'

/** One part of the hub, as `createHub` starts, runs and stops it. */
export interface HubModule {
  /** Name in log messages. */
  name: string
  listener?: HubListener
  jobs?: readonly Job[]
  /** Called every few seconds. Skipped once after the process was suspended. */
  sweep?(): void | Promise<unknown>
  /** Resolves once everything held for the session is released; rejects with errors of the store. */
  sessionLost?(identity: Identity, session_id: SessionId): Promise<void>
  start?(): void
  /** Called in reverse order of the start, after every link has closed. */
  stop?(): void | Promise<void>
}

/** Periodic work. */
export interface Job {
  /** Completes "… failed" in the log. */
  name: string
  every_ms: number
  run: () => void | Promise<unknown>
}
