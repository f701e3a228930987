/**
 * Signals in progress: drained in a turn that ended, and not completed. The next session of the persona gets one notice
 * of them, in the answer to its first drain.
 */
import type { Leases } from './leases.ts'
import type { InProgressList, SignalDeps } from './types.ts'
import type { Identity, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { DrainResult } from '../../contracts/signal.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'

export interface InProgress {
  count: (identity: Identity) => number
  /** Has no effect on the notice of the next session. */
  list: (identity: Identity) => Promise<InProgressList>
  /**
   * Returns the notice for the answer to a drain: on the session's first drain the signals in progress of sessions that
   * have ended, without those of earlier notices. The notice counts as given once the answer is written.
   */
  noticeFor: (
    identity: Identity,
    session_id: SessionId,
    answer: SentAnswer,
  ) => Promise<Pick<DrainResult, 'in_progress' | 'in_progress_count'>>
}

export function createInProgress(
  { store, routes, log }: Pick<SignalDeps, 'store' | 'routes' | 'log'>,
  leases: Pick<Leases, 'isFirstDrain' | 'firstDrainAnswered'>,
): InProgress {
  /** Signals in notices whose answer is being written. */
  const in_flight = new Set<SignalId>()

  const finish = async (signal_ids: readonly SignalId[], how: 'written' | 'broken') => {
    try {
      if (how === 'written') await store.markNotified(signal_ids)
    } finally {
      for (const signal_id of signal_ids) in_flight.delete(signal_id)
    }
  }

  return {
    count: (identity) => store.inProgressCount(identity),
    list: (identity) => store.inProgress(identity, { limit: LIMITS.in_progress_shown_max }),

    async noticeFor(identity, session_id, answer) {
      if (!leases.isFirstDrain(identity, session_id)) return {}
      void answer.written().then((how) => {
        if (how === 'written') leases.firstDrainAnswered(identity, session_id)
      })
      if (store.inProgressCount(identity) === 0) return {}
      const { signals } = await store.inProgress(identity, {
        limit: LIMITS.in_progress_reported_max,
        // Signals drained by a session that is present still belong to it.
        unnotified_except: [session_id, ...routes.sessions(identity)],
      })
      const unreported = signals.filter(({ signal_id }) => !in_flight.has(signal_id))
      if (unreported.length === 0) return {}
      const signal_ids = unreported.map(({ signal_id }) => signal_id)
      for (const signal_id of signal_ids) in_flight.add(signal_id)
      answer
        .written()
        .then((how) => finish(signal_ids, how))
        .catch((err: unknown) =>
          log.error(
            { err, identity },
            'notice of signals in progress could not be recorded; it will be repeated',
          ),
        )
      return {
        in_progress: unreported.slice(0, LIMITS.in_progress_shown_max),
        in_progress_count: unreported.length,
      }
    },
  }
}
