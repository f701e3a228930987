/**
 * Leases of drains. The ack of a drain stays tentative until the turn in which it was made has ended, so that an agent
 * that dies during its turn loses nothing.
 *
 * Where the session's turns are reported, only the end of the turn makes a drain final. A confirm, or the next drain in
 * the same turn, shows that the agent has the answer: `seen_at` is set, and the end of this turn counts even if it was
 * reported before the answer was known to have arrived.
 * Where the session's turns are not reported, a confirm or the session's next drain makes the drain final.
 *
 * A caller that gave up may have closed its connection long ago, and a process that was suspended may not know it yet.
 * So the end of a turn counts only after the event loop has processed what arrived with it, and a next drain only once
 * the caller has shown a sign of life after the answer.
 *
 * A lease is released by a broken answer, a restart of the hub, the loss of the session, or `lease_ms` without a sign of
 * life. The store keeps the leases; the state here only decides about them and is lost with the hub.
 */
import { belongsToOtherSession } from '../lib/caller-guards.ts'
import { createLeaseEvents, type LeaseEvents } from './lease-events.ts'
import { createLeaseSessions, type LeaseSessions } from './lease-sessions.ts'
import { createLeaseSettlement, type LeaseSettlement } from './lease-settlement.ts'
import { boundaryAfter, continuesCount, isPast, type Lease } from './lease-state.ts'
import type { SignalDeps } from './types.ts'
import type { DrainId, Identity, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Turn } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'

export interface Leases {
  /** Releases the leases of the previous hub process. */
  start: () => Promise<{ released: number }>
  /** Call before the store drains, so that losing the session during the drain releases the lease in order. */
  open: (drain_id: DrainId, identity: Identity, session_id: SessionId) => Lease
  /** Ends a lease under which nothing was drained. */
  discard: (lease: Lease) => void
  /** False once the lease was confirmed, released or discarded. */
  isOpen: (lease: Lease) => boolean
  /** Releases again, for a session that was lost before the store had drained. */
  releaseLost: (lease: Lease) => Promise<void>
  /** Records what was drained and follows the answer that carries it. */
  attachAnswer: (lease: Lease, signal_ids: readonly SignalId[], answer: SentAnswer) => void
  /**
   * The agent has the answer of this drain. Final at once where the session's turns are not reported, otherwise with the
   * end of its turn. Has no effect on an unknown or confirmed drain, or on one of another persona or session.
   */
  confirm: (caller: Caller, drain_id: DrainId) => Promise<void>
  /**
   * The session drains again, which shows that it has the answers it received before. Counts only once this answer is
   * written as well, because a request that its sender has given up may arrive late.
   */
  nextDrain: (identity: Identity, session_id: SessionId, answer: SentAnswer) => void
  turnReported: (identity: Identity, session_id: SessionId, turn: Turn, turn_seq: number) => Promise<void>
  sessionSeen: (identity: Identity, session_id: SessionId) => void
  sessionLost: (identity: Identity, session_id: SessionId) => Promise<void>
  /** The agent released signals of this lease one by one; the lease ends with the last one. */
  signalsReleased: (drain_id: DrainId) => void
  /** Whether no drain of the session was answered since the hub started or the session was lost. */
  isFirstDrain: (identity: Identity, session_id: SessionId) => boolean
  firstDrainAnswered: (identity: Identity, session_id: SessionId) => void
  /** Sessions with a sign of life within `lease_ms`, and not lost since. */
  recentSessions: (identity: Identity) => SessionId[]
  sweep: () => Promise<void>
  publishReleased: LeaseEvents['released']
}

export function createLeases(deps: SignalDeps): Leases {
  const { store, clock } = deps
  const sessions = createLeaseSessions(clock)
  const events = createLeaseEvents(deps)
  const settlement = createLeaseSettlement(deps, sessions, events)

  return {
    ...createAnswerTracking(sessions, settlement, deps.log),
    publishReleased: events.released,
    discard: sessions.discard,
    isOpen: sessions.isOpen,
    releaseLost: (lease) => settlement.release(lease, 'session_lost'),

    async start() {
      const left = store.leases()
      for (const { drain_id, identity, session_id } of left)
        sessions.setOwner(drain_id, { identity, session_id, lease: null })
      const released = (await Promise.all(left.map(({ drain_id }) => store.release(drain_id)))).flat()
      events.released(released, 'hub_restarted')
      return { released: released.length }
    },

    open(drain_id, identity, session_id) {
      const session = sessions.ensure(identity, session_id)
      session.seen_at = clock.monotonic()
      return sessions.addLease(drain_id, session)
    },

    async confirm(caller, drain_id) {
      const owner = sessions.ownerOf(drain_id)
      if (owner?.identity !== caller.identity || belongsToOtherSession(caller, owner.session_id)) return
      if (owner.lease === null) await settlement.releasedAnswerSeen(drain_id, owner)
      else await settlement.answerSeen(owner.lease)
    },

    async turnReported(identity, session_id, turn, turn_seq) {
      const finished = applyTurnReport(sessions, clock.monotonic(), { identity, session_id, turn, turn_seq })
      await Promise.all(finished.map(settlement.turnEnded))
    },

    sessionSeen(identity, session_id) {
      sessions.ensure(identity, session_id).seen_at = clock.monotonic()
    },

    async sessionLost(identity, session_id) {
      const session = sessions.find(identity, session_id)
      const leases = [...(session?.leases ?? [])]
      if (session) sessions.remove(session)
      // Before the leases, whose signals are published as released.
      events.sessionEnded(identity, session_id)
      const open = leases.filter(({ turn_ended }) => !turn_ended)
      await Promise.all(open.map((lease) => settlement.release(lease, 'session_lost')))
    },

    signalsReleased(drain_id) {
      const lease = sessions.ownerOf(drain_id)?.lease
      if (lease === null || lease === undefined) return
      if (!store.leases().some((stored) => stored.drain_id === drain_id)) sessions.discard(lease)
    },

    isFirstDrain: (identity, session_id) => sessions.find(identity, session_id)?.has_drained !== true,
    firstDrainAnswered(identity, session_id) {
      const session = sessions.find(identity, session_id)
      if (session) session.has_drained = true
    },

    recentSessions: sessions.ids,
    sweep: () => sweepSessions({ store, clock }, sessions, events, settlement),
  }
}

/** Follows the answers that carry drained signals, and settles their leases accordingly. */
function createAnswerTracking(
  sessions: LeaseSessions,
  settlement: LeaseSettlement,
  log: SignalDeps['log'],
): Pick<Leases, 'attachAnswer' | 'nextDrain'> {
  const logFailure =
    ({ drain_id }: Lease) =>
    (err: unknown) =>
      log.error({ err, drain_id }, 'lease could not be settled; it will time out')

  return {
    attachAnswer(lease, signal_ids, answer) {
      lease.signal_ids = signal_ids
      const releaseUnseen = async () => {
        if (sessions.isOpen(lease) && !lease.seen) await settlement.release(lease, 'answer_broken')
      }
      answer
        .written()
        .then((how) => (how === 'broken' ? releaseUnseen() : settlement.answerWritten(lease)))
        .catch(logFailure(lease))
      answer
        .received()
        .then((how) => (how === 'broken' ? releaseUnseen() : settlement.noteProgress(lease, 'received')))
        .catch(logFailure(lease))
    },

    nextDrain(identity, session_id, answer) {
      for (const lease of sessions.find(identity, session_id)?.leases ?? []) {
        if (!lease.written) continue
        answer
          .written()
          .then(async (how) => {
            if (how === 'written') await settlement.noteProgress(lease, 'drained_again')
          })
          .catch(logFailure(lease))
      }
    },
  }
}

/** Records the report and returns the leases whose turn has ended with it. */
function applyTurnReport(
  sessions: LeaseSessions,
  seen_at: number,
  {
    identity,
    session_id,
    turn,
    turn_seq,
  }: { identity: Identity; session_id: SessionId; turn: Turn; turn_seq: number },
): Lease[] {
  const session = sessions.ensure(identity, session_id)
  session.seen_at = seen_at
  const before = session.turn
  const continues = before === null || continuesCount(before.turn_seq, turn_seq)
  session.turn = { turn, turn_seq }
  if (turn === 'busy' || (before !== null && before.turn_seq !== turn_seq)) session.reports_turns = true
  const finished: Lease[] = []
  for (const lease of session.leases) {
    if (lease.boundary_turn === null || !continues) {
      lease.boundary_turn = boundaryAfter(session.turn)
      lease.unverified_turn = null
    } else if (!lease.flushed) {
      // The drain belongs to this turn, or the turn had ended before the drain: the reports still under way decide.
      if (turn === 'busy') lease.boundary_turn = Math.max(lease.boundary_turn, turn_seq)
    } else if (isPast(lease, session.turn)) {
      finished.push(lease)
    }
  }
  return finished
}

/** Removes sessions without a sign of life for `lease_ms` and releases their leases. */
async function sweepSessions(
  { store, clock }: Pick<SignalDeps, 'store' | 'clock'>,
  sessions: LeaseSessions,
  events: LeaseEvents,
  settlement: LeaseSettlement,
): Promise<void> {
  const silent_since = clock.monotonic() - LIMITS.lease_ms
  const stored = new Set(store.leases().map(({ drain_id }) => drain_id))
  const overdue: Lease[] = []
  for (const session of sessions.all()) {
    const silent = session.seen_at <= silent_since
    for (const lease of [...session.leases]) {
      if (silent) overdue.push(lease)
      // Its signals were all completed or released one by one.
      else if (lease.written && !lease.released && !stored.has(lease.drain_id)) sessions.discard(lease)
    }
    if (!silent) continue
    sessions.remove(session)
    events.sessionEnded(session.identity, session.session_id)
  }
  await Promise.all(overdue.map((lease) => settlement.release(lease, 'lease_timed_out')))
}
