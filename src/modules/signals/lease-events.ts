/** Publishes that signals of a lease or of a lost session are pending again. */
import type { ReleaseCause, SignalDeps } from './types.ts'
import type { Identity, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Released } from '../../ports/signal-store.ts'
import { groupBy } from '../lib/group-by.ts'

export interface LeaseEvents {
  /** Publishes the signals that are pending again, and those that were delivered too often and are dead. */
  released: (released: readonly Released[], cause: ReleaseCause) => void
  /**
   * Publishes the signals that were addressed to a session that may have ended: other sessions may drain them now, and
   * daemons have to count them.
   */
  sessionEnded: (to: Identity, session_id: SessionId) => void
}

export function createLeaseEvents({
  store,
  events,
  routes,
}: Pick<SignalDeps, 'store' | 'events' | 'routes'>): LeaseEvents {
  return {
    released(released, cause) {
      for (const [to, signals] of groupBy(released, (signal) => signal.to)) {
        const ids = (status: Released['status']) =>
          signals.filter((signal) => signal.status === status).map((signal) => signal.signal_id)
        const pending_count = store.pendingCount(to)
        const [pending, dead] = [ids('pending'), ids('dead')]
        for (const signal_ids of chunkIds(pending)) events.released({ to, signal_ids, cause, pending_count })
        for (const signal_ids of chunkIds(dead)) events.dead({ to, signal_ids, pending_count })
      }
    },

    sessionEnded(to, session_id) {
      if (routes.sessions(to).includes(session_id)) return
      const pending_count = store.pendingCount(to)
      if (store.pendingCount(to, [session_id]) === pending_count) return
      const others = new Set(store.peek(to, Infinity, [session_id]).map(({ signal_id }) => signal_id))
      const signal_ids = store
        .peek(to, Infinity)
        .map(({ signal_id }) => signal_id)
        .filter((signal_id) => !others.has(signal_id))
        // The event carries the total; the list is bounded by what a frame carries.
        .slice(0, LIMITS.peek_limit_max)
      events.freed({ to, signal_ids, session_id, pending_count })
    },
  }
}

/** Splits ids into lists that fit one frame or event. */
export function chunkIds(signal_ids: readonly SignalId[]): SignalId[][] {
  const size = LIMITS.told_ids_max
  return Array.from({ length: Math.ceil(signal_ids.length / size) }, (_, part) =>
    signal_ids.slice(part * size, (part + 1) * size),
  )
}
