/**
 * Signals in progress: drained in a turn that ended, and not completed. The next session of the persona is told of them
 * once, with its first drain.
 */
import type { Leases } from './leases.ts'
import type { SignalNeeds } from './needs.ts'
import type { Identity, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { DrainResult, InProgressSignal } from '../../contracts/signal.ts'

export interface InProgressList {
  /** All of the persona's signals in progress. */
  count: number
  /** The last sent first, at most `in_progress_shown_max`. */
  signals: InProgressSignal[]
}

export interface InProgress {
  count(identity: Identity): number
  /** Changes nothing: the next session is told all the same. */
  list(identity: Identity): Promise<InProgressList>
  /**
   * What a drain of this session adds to its answer: on the session's first drain what sessions that are not there any more
   * have in progress and nobody was told of. Counts as told once the answer is written.
   */
  tell(
    identity: Identity,
    session_id: SessionId,
    answered: Promise<'written' | 'broken'>,
  ): Promise<Pick<DrainResult, 'in_progress' | 'in_progress_count'>>
}

export function createInProgress(
  { store, routes, log }: Pick<SignalNeeds, 'store' | 'routes' | 'log'>,
  leases: Pick<Leases, 'isNew' | 'notNew'>,
): InProgress {
  /** In an answer that is being written. */
  const telling = new Set<SignalId>()

  const finish = async (signal_ids: readonly SignalId[], how: 'written' | 'broken') => {
    try {
      if (how === 'written') await store.told(signal_ids)
    } finally {
      for (const signal_id of signal_ids) telling.delete(signal_id)
    }
  }

  return {
    count: (identity) => store.inProgressCount(identity),
    list: (identity) => store.inProgress(identity, { limit: LIMITS.in_progress_shown_max }),

    async tell(identity, session_id, answered) {
      if (!leases.isNew(identity, session_id)) return {}
      void answered.then((how) => {
        if (how === 'written') leases.notNew(identity, session_id)
      })
      if (store.inProgressCount(identity) === 0) return {}
      const { signals } = await store.inProgress(identity, {
        limit: LIMITS.in_progress_told_max,
        // What a session that is there has drained is still its own.
        untold_except: [session_id, ...routes.sessions(identity)],
      })
      const untold = signals.filter(({ signal_id }) => !telling.has(signal_id))
      if (untold.length === 0) return {}
      const signal_ids = untold.map(({ signal_id }) => signal_id)
      for (const signal_id of signal_ids) telling.add(signal_id)
      answered
        .then((how) => finish(signal_ids, how))
        .catch((err: unknown) =>
          log.error(
            { err, identity },
            'the notice of signals in progress could not be recorded; the next session gets it again',
          ),
        )
      return {
        in_progress: untold.slice(0, LIMITS.in_progress_shown_max),
        in_progress_count: untold.length,
      }
    },
  }
}
