/**
 * Sessions whose drain got no answer. The hub may hold signals under them that no client will see; they are looked
 * up at the hub and released before the next drain.
 */
import { AnswerLost } from './hub/answers.ts'
import type { HubReports } from './hub/reports.ts'
import type { LeaseCalls } from './lease-calls.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { DrainId, SessionId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Log } from '../ports/log.ts'

export interface LostDrainsDeps {
  calls: LeaseCalls
  reports: HubReports
  log: Log
  /** Drains that are not lost, although the hub holds their leases. */
  isKnown: (drain_id: DrainId) => boolean
}

export interface LostDrains {
  /** Notes a session with lost signals, and releases them without waiting for its next drain. */
  add(session_id: SessionId): void
  /**
   * Releases the session's unknown drains. Only called within the queue of the reports; otherwise a concurrent drain
   * would be listed before it is known here.
   */
  release(session_id: SessionId, wait_ms: number): Promise<void>
  /** Sends a drain after the session's lost signals were released. Sends it once more if its answer is lost. */
  request<T>(session_id: SessionId, ask: () => Promise<T>): Promise<T>
}

export function createLostDrains({ calls, reports, log, isKnown }: LostDrainsDeps): LostDrains {
  const sessions = new Set<SessionId>()

  async function release(session_id: SessionId, wait_ms: number): Promise<void> {
    const signals = await calls.releaseUnknown(session_id, isKnown, wait_ms)
    if (signals > 0) log.info({ signals }, 'orphaned drains released')
    sessions.delete(session_id)
  }

  /** Runs without waiting for the next drain, because the end of a turn would make the lost signals final. */
  function releaseSoon(session_id: SessionId): void {
    const step = async () => {
      if (sessions.has(session_id)) await release(session_id, LIMITS.bridge_confirm_wait_ms)
    }
    reports.report(`released the lost signals of ${session_id}`, step, () => undefined)
  }

  return {
    add(session_id) {
      if (sessions.has(session_id)) return
      sessions.add(session_id)
      releaseSoon(session_id)
    },
    release,
    async request(session_id, ask) {
      for (let broken: AnswerLost | null = null, attempts = 0; ; attempts += 1) {
        try {
          if (sessions.has(session_id)) await release(session_id, LIMITS.bridge_leftover_wait_ms)
        } catch (error) {
          releaseSoon(session_id)
          // Without the hub's answer, the first attempt may have taken effect.
          const is_away = error instanceof TurnbellError && error.code === 'hub_unreachable'
          throw is_away ? (broken ?? error) : error
        }
        if (broken !== null && attempts === 2) throw broken
        try {
          return await ask()
        } catch (error) {
          if (!(error instanceof AnswerLost)) throw error
          broken = error
          sessions.add(session_id)
        }
      }
    },
  }
}
