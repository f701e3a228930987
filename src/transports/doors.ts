/**
 * What the transports need of the hub they are doors of. The hub's composition root implements it;
 * tests hand in a small one. Nothing here knows a facade.
 */
import { type z } from 'zod'
import type { Health } from '../contracts/http.ts'
import type { Caller, TokenAnswer, TokenRequest } from '../contracts/token.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'

export interface Doors {
  /** Throws `token_missing` for null, `token_invalid` or `token_expired` otherwise. */
  authenticate(token: string | null): Caller
  /** Throws `operator_required` unless the operator asks, or the caller renews for its own identity and kind. */
  issueToken(caller: Caller, request: z.infer<typeof TokenRequest>): z.infer<typeof TokenAnswer>
  /**
   * The agent says that the session its token names is over. One that a link or a daemon speaks for goes on.
   * Throws `kind_forbidden`, and `request_invalid` where the token names none.
   */
  endSession(caller: Caller): Promise<void>
  /** Answered without a token: nothing in it may name a persona. */
  health(): Omit<Health, 'tool_count'>
  /** `reason` is a sentence for a person, null while ready. */
  readiness(): { ready: boolean; reason: string | null }
  /** Prometheus text: the hub's own set and every daemon's last one. */
  metricsText(): Promise<string>
  events: EventLog
  /**
   * Every `host:port` (port always spelled) under which the hub may be called. Asked per request, because
   * port 0 is only known once bound. A request under another name is refused: DNS rebinding.
   */
  ownHosts(): readonly string[]
  log: Log
  clock: Clock
  ids: Ids
}

/** A way in. `start` resolves once requests are answered, `stop` once the running ones are. */
export interface TransportAdapter<Config = void> {
  name: string
  start(config: Config): Promise<void>
  stop(): Promise<void>
}
