/** Counts and lists of a queue's pending signals, read without changing them. */
import { otherSessions } from './drain.ts'
import { expireOverdue } from './expiry.ts'
import type { InProgress } from './in-progress.ts'
import type { OperationDeps, SignalService } from './types.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'

export function createPending(
  deps: OperationDeps,
  in_progress: InProgress,
): Pick<SignalService, 'peek' | 'newestPending' | 'pendingCount' | 'expiredCount' | 'inProgressCount'> {
  const { store } = deps
  const excludedSessions = (identity: Identity, session_id: SessionId | undefined) =>
    session_id === undefined ? [] : otherSessions(deps, identity, session_id)

  return {
    peek(identity, limit, session_id) {
      const except = excludedSessions(identity, session_id)
      // Takes effect at the call, so that no doorbell is due for an expired signal. If the store fails, the sweep reports it.
      expireOverdue(deps).catch(() => {})
      return {
        signals: store.peek(identity, limit, except),
        total: store.pendingCount(identity, except),
        as_of_seq: store.health().last_seq,
        in_progress_count: in_progress.count(identity),
      }
    },
    newestPending: (identity, limit) => store.newestPending(identity, limit),
    pendingCount: (identity, session_id) =>
      store.pendingCount(identity, excludedSessions(identity, session_id)),
    expiredCount: (identity) => store.expiredCount(identity),
    inProgressCount: in_progress.count,
  }
}
