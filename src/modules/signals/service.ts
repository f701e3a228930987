/** The signals module as the rest of the hub sees it: one face over send, drain, ack and the sweep. */
import { ack, type AckOutcome } from './ack.ts'
import { broadcast } from './broadcast.ts'
import { cancel, type Cancelled } from './cancel.ts'
import { drain, otherSessions } from './drain.ts'
import { expireOverdue } from './expiry.ts'
import { createInProgress, type InProgressList } from './in-progress.ts'
import { createLeases } from './leases.ts'
import { inbox, read } from './look.ts'
import type { SignalNeeds, SignalParts } from './needs.ts'
import { release, replay } from './put-back.ts'
import { createSender } from './send.ts'
import { createSweeper } from './sweep.ts'
import type { PendingEntry } from '../../contracts/frames.ts'
import type { Identity, Json, SessionId, SignalId } from '../../contracts/ids.ts'
import type {
  DrainInput,
  DrainResult,
  Receipt,
  SendInput,
  SignalStatus,
  SignalView,
} from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import type { SignalPage } from '../../ports/signal-store.ts'

export interface BroadcastInput extends Omit<SendInput, 'to' | 'to_session' | 'require_live'> {
  /**
   * Personas. Absent: the subscribers of the topic; without a topic, the active personas of the sender's project. A
   * sender without a project reaches the personas without one. Never the sender itself.
   */
  to?: Identity[] | undefined
  /** Without `to` and `topic`: the personas of every project. */
  all_projects?: boolean | undefined
  /** Project of a sender that is no persona or belongs to none; the call's scope. */
  project_id?: string | undefined
}

export interface BroadcastResult {
  broadcast_id: string
  receipts: Receipt[]
  /** Recipients that were refused, with the code. */
  refused: { to: Identity; code: string; detail: string }[]
  /** Present where the broadcast reached nobody: why, and what to do. */
  note?: string
}

export interface InboxQuery {
  /** Whose inbox. The operator may name any persona, or none for all; everybody else only itself. */
  to?: Identity | undefined
  status?: SignalStatus[] | undefined
  from?: Identity | undefined
  /** Only what this session was handed and has not confirmed. */
  leased_to?: SessionId | undefined
  before_seq?: number | undefined
  limit: number
}

export interface SignalService {
  /**
   * Throws `target_unknown`, `target_wrapped`, `target_stale`, `target_not_routable`, `payload_too_large`,
   * `queue_full`; then nothing is stored.
   */
  send(caller: Caller, input: SendInput): Promise<Receipt>
  broadcast(caller: Caller, input: BroadcastInput): Promise<BroadcastResult>
  /** Only an agent drains, and only its own queue. `answered` decides what becomes of the lease. */
  drain(caller: Caller, input: DrainInput, answered: Promise<'written' | 'broken'>): Promise<DrainResult>
  /**
   * Changes nothing; for daemons. What is addressed to another live session than `session_id` is left
   * out: a bell for it would wake an agent that cannot drain it.
   */
  peek(
    identity: Identity,
    limit: number,
    session_id?: SessionId,
  ): { signals: PendingEntry[]; total: number; as_of_seq: number; in_progress_count: number }
  /** How many a daemon with this surface session has to ring for. */
  pendingCount(identity: Identity, session_id?: SessionId): number
  /** Signals of the persona that were drained in turns that ended and are not completed. */
  inProgressCount(identity: Identity): number
  /** The same signals, at most `in_progress_shown_max` of them. Changes nothing: the next session is told all the same. */
  inProgress(identity: Identity): Promise<InProgressList>
  inbox(caller: Caller, query: InboxQuery): Promise<SignalPage>
  ack(caller: Caller, input: { signal_ids: SignalId[]; result?: Json | undefined }): Promise<AckOutcome>
  /**
   * For its sender and the operator, while it is pending. Throws `signal_unknown`, `identity_mismatch`, `signal_taken`.
   */
  cancel(caller: Caller, signal_id: SignalId): Promise<Cancelled>
  /** Number of the persona's signals whose status is `expired`; finished ones are forgotten after 7 days. */
  expiredCount(identity: Identity): number
  release(
    caller: Caller,
    input: { signal_ids: SignalId[] },
  ): Promise<{ released: SignalId[]; unknown: SignalId[] }>
  replay(
    caller: Caller,
    input: { signal_ids: SignalId[] },
  ): Promise<{ replayed: SignalId[]; unknown: SignalId[] }>
  read(caller: Caller, signal_id: SignalId): Promise<SignalView>

  // What the registry and the daemons tell it.
  /** The session reached a turn boundary after these leases were taken: their acks are final. */
  turnReported(
    identity: Identity,
    session_id: SessionId,
    turn: 'idle' | 'busy' | 'unknown',
    turn_seq: number,
  ): Promise<void>
  /** The session is lost: its tentative acks are taken back. */
  sessionLost(identity: Identity, session_id: SessionId): Promise<void>
  /** A sign of life of the session: its leases live on. */
  sessionSeen(identity: Identity, session_id: SessionId): void
  /** For people to see; it changes no signal. One that is not the persona's is left alone. */
  doorbellReported(
    identity: Identity,
    bell: { signal_id: SignalId; doorbell_id: string; stage: 'requested' | 'accepted' | 'seen' },
  ): Promise<void>
  /** Expiry, leases without a sign of life, compaction. Called on a timer. */
  sweep(): Promise<void>
}

export interface SignalModule extends SignalService {
  /** Before anything else: takes back what a former run left leased. */
  start(): Promise<{ released: number }>
}

export function createSignals(needs: SignalNeeds): SignalModule {
  const { store } = needs
  const leases = createLeases(needs)
  const in_progress = createInProgress(needs, leases)
  const parts: SignalParts = {
    ...needs,
    sessions: (identity) => [
      ...new Set([...needs.routes.sessions(identity), ...leases.recentSessions(identity)]),
    ],
  }
  const sender = createSender(parts)
  const sweeper = createSweeper(needs, leases)
  const except = (identity: Identity, session_id: SessionId | undefined) =>
    session_id === undefined ? [] : otherSessions(parts, identity, session_id)

  return {
    start: () => leases.start(),
    send: (caller, input) => sender.send(caller, input),
    broadcast: (caller, input) => broadcast(parts, sender, caller, input),
    drain: (caller, input, answered) => drain(parts, { leases, in_progress }, caller, input, answered),
    peek(identity, limit, session_id) {
      const left_out = except(identity, session_id)
      // Takes effect at the call: what is over is not rung for. Should the store not take it, the sweep tells.
      expireOverdue(needs).catch(() => {})
      return {
        signals: store.peek(identity, limit, left_out),
        total: store.pendingCount(identity, left_out),
        as_of_seq: store.health().last_seq,
        in_progress_count: in_progress.count(identity),
      }
    },
    pendingCount: (identity, session_id) => store.pendingCount(identity, except(identity, session_id)),
    inProgressCount: (identity) => in_progress.count(identity),
    inProgress: (identity) => in_progress.list(identity),
    inbox: (caller, query) => inbox(parts, caller, query),
    ack: (caller, input) => ack(parts, sender, caller, input),
    cancel: (caller, signal_id) => cancel(parts, caller, signal_id),
    expiredCount: (identity) => store.expiredCount(identity),
    release: (caller, input) => release(parts, leases, caller, input.signal_ids),
    replay: (caller, input) => replay(parts, caller, input.signal_ids),
    read: (caller, signal_id) => read(parts, caller, signal_id),
    turnReported: (identity, session_id, turn, turn_seq) =>
      leases.turnReported(identity, session_id, turn, turn_seq),
    sessionLost: (identity, session_id) => leases.lost(identity, session_id),
    sessionSeen: (identity, session_id) => leases.seen(identity, session_id),
    async doorbellReported(identity, { signal_id, doorbell_id, stage }) {
      const signal = await store.read(signal_id)
      if (signal?.to !== identity) return
      // A surface that was asked may still put the bell off.
      if (stage !== 'requested')
        store.mark([signal_id], stage === 'seen' ? 'seen_at' : 'rung_at', timestamp(needs.clock))
      needs.events.rung({ to: identity, signal_id, doorbell_id, stage })
    },
    sweep: () => sweeper.sweep(),
  }
}
