/** The part of the hub that transports use, without its facades. Implemented by the hub; tests pass a small one. */
import { type z } from 'zod'
import type { ActivityReceipt, ActivityReport } from '../contracts/activity/event.ts'
import type { Health } from '../contracts/http.ts'
import type { TeamView } from '../contracts/team-view.ts'
import type { Caller, TokenAnswer, TokenRequest } from '../contracts/token.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import type { Quotas } from './quotas.ts'

export interface HubApi {
  /** Throws `token_missing` for null, `token_invalid` or `token_expired` otherwise. */
  authenticate(token: string | null): Caller
  /** Throws `operator_required` unless the caller is the operator or renews the token of its own identity and kind. */
  issueToken(caller: Caller, request: z.infer<typeof TokenRequest>): z.infer<typeof TokenAnswer>
  /**
   * Ends the session that the agent's token names. A session that is used by a link or a daemon continues. Throws
   * `kind_forbidden`, and `request_invalid` if the token names no session.
   */
  endSession(caller: Caller): Promise<void>
  /** Stores what a client reports of an agent, or drops and counts it; see `Intake`. */
  reportActivity(caller: Caller, report: ActivityReport): Promise<ActivityReceipt>
  /** Stores what a client's hook shows of an agent. Returns at once, because the client waits for its hook. */
  reportHook(caller: Caller, client: string, body: Record<string, unknown>): void
  /** Returns what a client shows of the team next to the session of the agent. Rejects with `store_unavailable`. */
  teamView(caller: Caller): Promise<TeamView>
  /** Returned without a token, so it must not name a persona. */
  health(): Omit<Health, 'tool_count'>
  /** `reason` is a sentence for a person, null while ready; `hint` is the next step, if waiting is not enough. */
  readiness(): { ready: boolean; reason: string | null; hint?: string | null }
  /** Returns the metrics of the hub and the last reported metrics of every daemon, as Prometheus text. */
  metricsText(): Promise<string>
  events: EventLog
  /**
   * Returns every `host:port` (always with the port) under which the hub may be called. Read per request, because port 0
   * is only known once bound. A request for another host is rejected (DNS rebinding).
   */
  ownHosts(): readonly string[]
  quotas: Quotas
  log: Log
  clock: Clock
  ids: Ids
}

/** `start` resolves once requests are accepted, `stop` once the running ones are answered. */
export interface TransportAdapter<Config = void> {
  name: string
  start(config: Config): Promise<void>
  stop(): Promise<void>
}
