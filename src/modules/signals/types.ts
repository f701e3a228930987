/** Interfaces of the signals module: what it needs, what it offers, and the events it publishes. */
import type { PendingEntry } from '../../contracts/frames.ts'
import type { DrainId, Identity, Json, SessionId, SignalId } from '../../contracts/ids.ts'
import type { Turn } from '../../contracts/registry.ts'
import type {
  DrainInput,
  DrainResult,
  InProgressSignal,
  Receipt,
  SendInput,
  SignalStatus,
  SignalView,
} from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'
import type { SignalPage, SignalStore } from '../../ports/signal-store.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { RouteResolver } from '../registry/route.ts'

/** Dependencies of the module. The hub's composition root fills them; tests fill them with memory stores. */
export interface SignalDeps {
  store: SignalStore
  personas: Pick<PersonaRegistry, 'get' | 'ensure' | 'list' | 'identities'>
  routes: RouteResolver
  /** Recipients of a broadcast on a topic. */
  subscribers(topic: string): Identity[]
  events: SignalEvents
  /** Lifetime in seconds of agents' signals sent without a `ttl_s`; default `ttl_s_default`. */
  ttl_s?: number
  /**
   * Resolves once every frame is processed that the persona's connections had sent before they could know of this call.
   * Resolves with false where a connection has ended or none is open, so that the last report may be out of date.
   */
  flushInbound?(identity: Identity): Promise<boolean>
  clock: Clock
  ids: Ids
  log: Log
}

/** Dependencies of the module's operations. */
export interface OperationDeps extends SignalDeps {
  /** Sessions that hold a registration or recently showed a sign of life. A signal addressed to one of them waits for it. */
  sessions(identity: Identity): SessionId[]
}

export interface BroadcastInput extends Omit<SendInput, 'to' | 'to_session' | 'require_live'> {
  /**
   * Personas. Absent: the subscribers of the topic; without a topic, the active personas of the sender's project. A
   * sender without a project reaches the personas without one. Never the sender itself.
   */
  to?: Identity[] | undefined
  /** Without `to` and `topic`: the personas of every project. */
  all_projects?: boolean | undefined
  /** Project of a sender that is not a persona or belongs to no project; taken from the call's scope. */
  project_id?: string | undefined
}

export interface BroadcastResult {
  broadcast_id: string
  receipts: Receipt[]
  /** Rejected recipients, with the error code. */
  refused: { to: Identity; code: string; detail: string }[]
  /** Present where the broadcast reached no recipient: the reason and the next step. */
  note?: string
}

export interface InboxQuery {
  /** Owner of the inbox. The operator may name any persona, or none for all; other callers only themselves. */
  to?: Identity | undefined
  status?: SignalStatus[] | undefined
  from?: Identity | undefined
  /** Only signals that this session has drained and not confirmed. */
  leased_to?: SessionId | undefined
  before_seq?: number | undefined
  limit: number
}

export interface InProgressList {
  /** Number of the persona's signals in progress. */
  count: number
  /** The last sent first, at most `in_progress_shown_max`. */
  signals: InProgressSignal[]
}

export interface AckInput {
  signal_ids: SignalId[]
  result?: Json | undefined
}

export interface AckOutcome {
  completed: SignalId[]
  already: SignalId[]
  /** Not the caller's, cancelled by its sender, or forgotten. */
  unknown: SignalId[]
  /** Replies that are stored for the persona in `reply_to`, under `reply_id`. */
  replied: { signal_id: SignalId; to: Identity; reply_id: SignalId }[]
  /**
   * Signals of this ack without a reply, with the reason: `no_reply_to`, `reply_to_self` where the operator acks a signal
   * whose reply goes to the operator, or the code with which `reply_to` was rejected. `signals read` shows the result.
   */
  not_replied: { signal_id: SignalId; reason: string }[]
}

export interface Cancelled {
  signal_id: SignalId
  to: Identity
  status: 'cancelled'
}

export interface SignalService {
  /**
   * Throws `target_unknown`, `target_wrapped`, `target_stale`, `target_not_routable`, `payload_too_large`,
   * `queue_full`; then nothing is stored.
   */
  send(caller: Caller, input: SendInput): Promise<Receipt>
  broadcast(caller: Caller, input: BroadcastInput): Promise<BroadcastResult>
  /** Only an agent drains, and only its own queue. The outcome of `answer` decides about the lease. */
  drain(caller: Caller, input: DrainInput, answer: SentAnswer): Promise<DrainResult>
  /**
   * Returns the pending signals for daemons, without changing them. Signals addressed to another live session than
   * `session_id` are left out: a doorbell for them would wake an agent that cannot drain them.
   */
  peek(
    identity: Identity,
    limit: number,
    session_id?: SessionId,
  ): { signals: PendingEntry[]; total: number; as_of_seq: number; in_progress_count: number }
  /** Returns the persona's last sent pending signals, newest first. */
  newestPending(identity: Identity, limit: number): PendingEntry[]
  /** Number of signals that a daemon with this surface session has to ring for. */
  pendingCount(identity: Identity, session_id?: SessionId): number
  /** Number of the persona's signals that were drained in turns that ended and are not completed. */
  inProgressCount(identity: Identity): number
  /** The same signals, at most `in_progress_shown_max`. The next session still gets its notice of them. */
  inProgress(identity: Identity): Promise<InProgressList>
  inbox(caller: Caller, query: InboxQuery): Promise<SignalPage>
  ack(caller: Caller, input: AckInput): Promise<AckOutcome>
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

  // Reports from the registry and the daemons.
  /** The session reached a turn boundary after these leases were taken: their acks are final. */
  turnReported(identity: Identity, session_id: SessionId, turn: Turn, turn_seq: number): Promise<void>
  /** The session is lost: its tentative acks are revoked. */
  sessionLost(identity: Identity, session_id: SessionId): Promise<void>
  /** A sign of life of the session: its leases are extended. */
  sessionSeen(identity: Identity, session_id: SessionId): void
  /** Records a doorbell's stage for people to see. Has no effect on the signal, or on another persona's signal. */
  doorbellReported(
    identity: Identity,
    bell: { signal_id: SignalId; doorbell_id: string; stage: 'requested' | 'accepted' | 'seen' },
  ): Promise<void>
  /** Expiry, leases without a sign of life, compaction. Called on a timer. */
  sweep(): Promise<void>
}

export interface SignalModule extends SignalService {
  /** Call before anything else: releases the leases of the previous hub process. */
  start(): Promise<{ released: number }>
}

/** Why drained signals are pending again. */
export type ReleaseCause = 'answer_broken' | 'hub_restarted' | 'session_lost' | 'lease_timed_out' | 'asked'

/** Events of the module, each published only after the store has made the change durable. */
export interface SignalEvents {
  /** A new signal is pending. */
  pushed(push: PendingEntry & { to: Identity; to_session?: SessionId; pending_count: number }): void
  /** The same key came again: nothing was stored and nothing is pushed. */
  repeated(signal: { signal_id: SignalId; to: Identity; from: Identity }): void
  drained(drain: {
    to: Identity
    signal_ids: SignalId[]
    session_id: SessionId
    drain_id: DrainId
    pending_count: number
  }): void
  /** `waited` lists the signals that had been released and were pending again: the confirmation removed them from the queue. */
  confirmed(confirm: {
    to: Identity
    drain_id: DrainId
    signal_ids: SignalId[]
    waited: SignalId[]
    pending_count: number
  }): void
  released(release: {
    to: Identity
    signal_ids: SignalId[]
    cause: ReleaseCause
    pending_count: number
  }): void
  /** The signals were addressed to a session that has ended: any session of the persona may drain them now. */
  freed(freed: { to: Identity; signal_ids: SignalId[]; session_id: SessionId; pending_count: number }): void
  /** Dead or finished signals are pending again. */
  replayed(replay: { to: Identity; signal_ids: SignalId[]; pending_count: number }): void
  /** `waited` lists the signals that were still pending: they left the queue without a drain. */
  completed(completion: {
    to: Identity
    by: 'agent' | 'operator'
    signal_ids: SignalId[]
    waited: SignalId[]
    session_id: SessionId
    pending_count: number
  }): void
  expired(expiry: { to: Identity; signal_ids: SignalId[]; pending_count: number }): void
  /** The sender or the operator cancelled the signal while it was pending. */
  cancelled(cancel: { to: Identity; by: Identity; signal_ids: SignalId[]; pending_count: number }): void
  dead(death: { to: Identity; signal_ids: SignalId[]; pending_count: number }): void
  /** The result is stored with the signal, but the persona in `reply_to` takes no signals. */
  replyRefused(refusal: { signal_id: SignalId; reply_to: Identity; code: string }): void
  rung(bell: {
    to: Identity
    signal_id: SignalId
    doorbell_id: string
    stage: 'requested' | 'accepted' | 'seen'
  }): void
}
