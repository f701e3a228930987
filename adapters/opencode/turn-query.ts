/** Queries the server's turn state, to end an expired doubt or after missing events. */
import type { BellWatch } from './bell-watch.ts'
import type { AttachedSession } from './attached-session.ts'
import { statusAnswered } from './session-tracker.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface TurnQuery {
  /** Queries the turn, unless a doubt has not expired: during it the server may not know the turn yet. Never rejects. */
  query(): Promise<void>
  /**
   * Queries after `opencode_begin_ms`: the last query failed, or only its answer shows a running turn, whose end may
   * have been reported before the connection.
   */
  queryLater(): void
  /** Cancels the query of `queryLater`. */
  cancel(): void
  close(): void
}

export interface TurnQueryDeps {
  session: AttachedSession
  watch: BellWatch
  clock: Pick<Clock, 'after'>
  log: Log
}

/** Time after which each doubt of the tracked session expires. */
const DOUBT_MS = {
  created: LIMITS.opencode_first_prompt_ms,
  begins: LIMITS.opencode_begin_ms,
  breaks: LIMITS.opencode_settle_ms,
}

export function turnQuery({ session, watch, clock, log }: TurnQueryDeps): TurnQuery {
  let doubt_timer: Timer | null = null
  let query_timer: Timer | null = null

  async function query(): Promise<void> {
    const [to, queried_state] = [session.server, session.state()]
    const session_ref = queried_state.session
    // Before the first answer a query is in progress.
    if (to === null || session_ref === null || !session.ready || doubt_timer !== null) return
    try {
      const busy = await to.isBusy(session_ref)
      if (!session.isCurrent(to, session_ref)) return
      watch.noteBusy(busy)
      if (!busy) await watch.check(to, session_ref)
      if (!session.isCurrent(to, session_ref)) return
      session.move(statusAnswered(session.state(), busy, queried_state))
      if (busy) queryLater()
    } catch (error) {
      log.debug({ err: error }, 'turn state could not be queried')
      if (!session.isCurrent(to, session_ref)) return
      watch.noteSilence()
      queryLater()
    }
  }

  function queryLater(): void {
    query_timer?.cancel()
    query_timer = clock.after(LIMITS.opencode_begin_ms, () => {
      if (session.state().turn !== 'idle') void query()
    })
  }

  function endDoubt(): void {
    doubt_timer = null
    void query()
  }

  session.onMove(({ doubt }) => {
    doubt_timer?.cancel()
    doubt_timer = doubt === null ? null : clock.after(DOUBT_MS[doubt], endDoubt)
  })
  return {
    query,
    queryLater,
    cancel: () => query_timer?.cancel(),
    close() {
      doubt_timer?.cancel()
      query_timer?.cancel()
    },
  }
}
