/** Decides when a lease is confirmed or released, from the evidence about its answer and its turn. */
import type { LeaseEvents } from './lease-events.ts'
import type { DrainOwner, LeaseSessions } from './lease-sessions.ts'
import { boundaryAfter, isPast, type Lease } from './lease-state.ts'
import type { ReleaseCause, SignalDeps } from './types.ts'
import type { DrainId } from '../../contracts/ids.ts'
import { timestamp } from '../../ports/clock.ts'
import { afterTicks } from '../../ports/pause.ts'
import type { Confirmed } from '../../ports/signal-store.ts'

export interface LeaseSettlement {
  release: (lease: Lease, cause: ReleaseCause) => Promise<void>
  /** The answer left the hub: fixes the turn whose end confirms the lease. */
  answerWritten: (lease: Lease) => Promise<void>
  /** The agent has the answer: confirms where the session's turns are not reported, or where its turn is over. */
  answerSeen: (lease: Lease) => Promise<void>
  /**
   * The agent has an answer whose signals were released. Where its turn is still running they stay pending until its
   * end, because the agent may still die in it.
   */
  releasedAnswerSeen: (drain_id: DrainId, owner: DrainOwner) => Promise<void>
  /** The answer was received, or the session drained again; both together show that the agent has the answer. */
  noteProgress: (lease: Lease, progress: 'received' | 'drained_again') => Promise<void>
  /** The lease's turn has ended. */
  turnEnded: (lease: Lease) => Promise<void>
}

export function createLeaseSettlement(
  deps: SignalDeps,
  sessions: LeaseSessions,
  leaseEvents: LeaseEvents,
): LeaseSettlement {
  const { store, clock } = deps
  const { isOpen } = sessions

  const confirmDrain = (drain_id: DrainId, owner: DrainOwner) => confirm(deps, sessions, drain_id, owner)
  const confirmLease = (lease: Lease) => {
    const { drain_id, identity, session_id } = lease
    return confirmDrain(drain_id, { identity, session_id, lease })
  }

  const answerSeen: LeaseSettlement['answerSeen'] = async (lease) => {
    const session = sessions.ensure(lease.identity, lease.session_id)
    if (session.turn !== null) await flushReports(deps, lease)
    if (!isOpen(lease)) return
    if (!session.reports_turns) return confirmLease(lease)
    if (!lease.seen) store.mark(lease.signal_ids, 'seen_at', timestamp(clock))
    lease.seen = true
    lease.boundary_turn = lease.unverified_turn ?? lease.boundary_turn
    lease.unverified_turn = null
    if (session.turn !== null && isPast(lease, session.turn)) await confirmLease(lease)
  }

  return {
    async release(lease, cause) {
      sessions.discard(lease)
      leaseEvents.released(await store.release(lease.drain_id), cause)
    },

    async answerWritten(lease) {
      lease.written = true
      await flushReports(deps, lease)
      if (lease.seen) return
      // Reports processed up to here may have been sent before the agent had its answer, and turns may have passed
      // unreported while no link was open. So only a later end of a turn confirms, unless the agent shows that it has
      // the answer.
      const report = sessions.find(lease.identity, lease.session_id)?.turn ?? null
      if (report === null || !isPast(lease, report)) return
      lease.unverified_turn = lease.boundary_turn
      lease.boundary_turn = boundaryAfter(report)
    },

    answerSeen,

    async releasedAnswerSeen(drain_id, owner) {
      const session = sessions.find(owner.identity, owner.session_id)
      if (!session?.reports_turns || session.turn?.turn !== 'busy') return confirmDrain(drain_id, owner)
      const lease = sessions.addLease(drain_id, session)
      Object.assign(lease, { written: true, received: true, flushed: true, seen: true, released: true })
    },

    async noteProgress(lease, progress) {
      lease[progress] = true
      if (lease.received && lease.drained_again && isOpen(lease)) await answerSeen(lease)
    },

    async turnEnded(lease) {
      lease.turn_ended = true
      // The end of the answer's connection may have arrived together with this report and be processed after it.
      await new Promise<void>((resolve) => afterTicks(clock, 2, resolve))
      if (isOpen(lease)) await confirmLease(lease)
    },
  }
}

async function confirm(
  { store, clock, events }: SignalDeps,
  sessions: LeaseSessions,
  drain_id: DrainId,
  { identity, lease }: DrainOwner,
): Promise<void> {
  const confirming = store.confirm(drain_id, timestamp(clock))
  if (lease !== null) sessions.discard(lease)
  let outcome: Confirmed
  try {
    outcome = await confirming
  } catch (error) {
    // The lease stays open, and the store reports why it takes no writes.
    if (lease !== null) sessions.restoreLease(lease)
    throw error
  }
  const { confirmed: signal_ids, waited } = outcome
  if (signal_ids.length === 0) return
  const pending_count = store.pendingCount(identity)
  events.confirmed({ to: identity, drain_id, signal_ids, waited, pending_count })
}

/** Waits for the reports that are under way. Where some may be missing, the next report is the new baseline. */
async function flushReports(deps: SignalDeps, lease: Lease): Promise<void> {
  if (lease.flushed) return
  const complete = (await deps.flushInbound?.(lease.identity)) ?? true
  lease.flushed = true
  if (complete) return
  lease.boundary_turn = null
  lease.unverified_turn = null
}
