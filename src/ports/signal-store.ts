/**
 * Keeps signals and what happened to them. The promises below are the contract: every store runs
 * `test/suites/signal-store.suite.ts`, which checks them in this order.
 *
 * Every method that resolves has made its change durable: it survives a crash of this process and
 * of the machine. A store that can no longer promise that rejects with `store_unavailable` for good,
 * and never confirms what it cannot keep.
 *
 * Within one store changes take effect in the order the methods were called, at the call: a signal
 * counts as waiting, and can be drained, before its append has resolved. Whoever is told about it is
 * told after it is durable, because a later change is never durable before an earlier one; `look`, `read`
 * and `query` therefore wait for what they show.
 */
import type { DrainId, Identity, Json, Seq, SessionId, SignalId } from '../contracts/ids.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import type { Signal, SignalStatus, SignalView } from '../contracts/signal.ts'

export interface Lease {
  drain_id: DrainId
  session_id: SessionId
}

export interface DrainRequest extends Lease {
  limit: number
  /** ISO time at which the drain happens. */
  now: string
  /** Stop before the signals together pass this many bytes; at least one is returned. */
  bytes_max?: number
  /** What one counts; its payload as JSON, where it is not said. The store knows nothing of how it is shown. */
  bytesOf?: (drained: Drained) => number
  /** Signals addressed (`to_session`) to one of these are left alone: other sessions that are still there. */
  except_sessions?: readonly SessionId[]
}

export interface Drained {
  signal: Signal
  seq: Seq
  /** How often it was handed out. In the answer of a drain with this time: 1 at the first delivery. */
  deliveries: number
}

export interface Released {
  signal_id: SignalId
  to: Identity
  /** `pending` again, or `dead` when it came back too often. */
  status: 'pending' | 'dead'
}

/** A signal, and the lease under which it was seen. */
export interface LeasedSignal {
  signal_id: SignalId
  drain_id: DrainId
}

export interface Confirmed {
  /** In the order in which they were handed out. */
  confirmed: SignalId[]
  /** Those of them that were waiting again: they leave the queue by this. */
  waited: SignalId[]
}

/** A signal whose drain is final and that its recipient has not completed. */
export interface Taken {
  signal_id: SignalId
  from: Identity
  intent: string
  /** ISO time of the drain. */
  drained_at: string
}

export interface TakenQuery {
  /** At most this many are returned. */
  limit: number
  /** Only those that no session was told of, and that were drained by none of these sessions. */
  untold_except?: readonly SessionId[]
}

export interface Completed {
  completed: SignalId[]
  /** Those of them that were waiting: they leave the queue without a drain. */
  waited: SignalId[]
  already: SignalId[]
  unknown: SignalId[]
}

/** `told_at`: the recipient was told that the signal expired. It is not shown among the stages. */
export type Stage = 'pushed_at' | 'rung_at' | 'seen_at' | 'told_at'

export interface Expiry {
  expired: { signal_id: SignalId; to: Identity }[]
  /** In the order in which they were made. */
  notices: Appended[]
}

export interface SignalQuery {
  to?: Identity
  from?: Identity
  status?: readonly SignalStatus[]
  in_reply_to?: SignalId
  /** Only what this session holds under a lease. */
  leased_to?: SessionId
  /** Newest first from before this position. */
  before_seq?: Seq
  limit: number
  /** What is found takes no more; one is always among it. */
  bytes_max?: number
  /** What one takes; its size as JSON, where it is not said. */
  bytesOf?: (view: SignalView) => number
}

export interface SignalPage {
  signals: SignalView[]
  /** `before_seq` of the page behind this one; null where nothing more is found. */
  next: Seq | null
}

export interface StoreHealth {
  writable: boolean
  /** Why not, for a person. */
  reason: string | null
  signals: number
  pending: number
  /** The highest seq given out, 0 in an empty store. */
  last_seq: Seq
  /** The highest signal id seen, for `Ids.startAfter`. */
  last_signal_id: SignalId | null
}

/** What became of a signal: itself, or the first one of its key. */
export interface Appended {
  seq: Seq
  signal_id: SignalId
  repeated: boolean
}

export interface SignalStore {
  /**
   * Resolves with the signal's seq only once it survives a crash of this process and of the machine.
   * Seqs grow by one in call order. A known `idempotency_key` of the same sender, still inside the
   * window, resolves with the first signal's seq and id and stores nothing. The window is counted
   * from the first one's `created_at`. If the two requests differ (recipient, intent, payload, topic, priority,
   * `reply_to`, `in_reply_to` or `to_session`), it rejects with `idempotency_key_reused` and stores nothing.
   */
  append(signal: Signal): Promise<Appended>
  /**
   * All or nothing, in order, also across a torn write: a broadcast's signals. A known key, also one of the same call,
   * stores nothing, as in `append`.
   */
  appendAll(signals: readonly Signal[]): Promise<Appended[]>
  /**
   * What `append` would answer as repeated to a signal made `at` that time, or now: the one behind a sender's key. It may
   * be on its way to the disk still, which `append` waits for.
   */
  recall(
    from: Identity,
    idempotency_key: string,
    at?: string,
  ): { seq: Seq; signal_id: SignalId; request_digest?: string | undefined } | null

  /**
   * The waiting signals of a persona: highest priority first, then oldest. Changes nothing. Those
   * addressed to one of `except_sessions` are left out.
   */
  peek(identity: Identity, limit: number, except_sessions?: readonly SessionId[]): PendingEntry[]
  /** How many wait, under the same exception. A signal counts from the call of `append` on. */
  pendingCount(identity: Identity, except_sessions?: readonly SessionId[]): number
  /** Bodies of the waiting signals in the same order, without a lease: what `peek: true` shows. */
  look(identity: Identity, limit: number, except_sessions?: readonly SessionId[]): Promise<Drained[]>

  /**
   * Highest priority first, then oldest. A returned signal is `acked` under the lease and hidden from
   * other drains until the lease is confirmed, completed or released. Two drains at the same moment
   * share no signal. What is still pending is handed out whatever its `expires_at`: only `expire` judges.
   */
  drain(identity: Identity, request: DrainRequest): Promise<Drained[]>
  /**
   * The lease's signals are delivered: their ack is final. Unknown or empty leases confirm nothing.
   */
  confirm(drain_id: DrainId, now: string): Promise<Confirmed>
  /**
   * The lease's signals go back to `pending`, or to `dead` past `deliveries_max`; answered in the order in which they were
   * handed out. A confirm for this
   * drain_id that arrives later still counts, as long as nobody drained, completed or replayed the
   * signal since; that it has died or expired meanwhile does not matter.
   */
  release(drain_id: DrainId): Promise<Released[]>
  /**
   * The persona gives some of its leased signals back; others are left alone, as are those that meanwhile are under
   * another lease than the one named. As with `release`, but they leave the lease for good: a later confirm is for what
   * was kept.
   */
  releaseSignals(identity: Identity, leased: readonly LeasedSignal[]): Promise<Released[]>
  /** Number of the persona's signals that are in progress: their drain is final, and they are not completed. */
  inProgressCount(identity: Identity): number
  /** The persona's signals in progress, the last sent first, and their number under the query. Waits as `read` does. */
  inProgress(identity: Identity, query: TakenQuery): Promise<{ count: number; signals: Taken[] }>
  /**
   * Notes that a later session was told of these signals in progress; others are left alone. A new drain or a replay of a
   * signal clears the note.
   */
  told(signal_ids: readonly SignalId[]): Promise<void>
  /** Leases that are neither confirmed, completed nor released. */
  leases(): { drain_id: DrainId; session_id: SessionId; identity: Identity; signal_ids: SignalId[] }[]

  /**
   * The persona has handled these. Unknown ids (or another persona's) are reported, not refused: an
   * agent may ack twice after a crash. Completing one that is still pending (or dead, or expired) is
   * allowed; completing it again changes nothing and reports it in `already`. A cancelled one counts as unknown.
   */
  complete(
    identity: Identity,
    signal_ids: readonly SignalId[],
    result: Json | undefined,
    now: string,
  ): Promise<Completed>
  /**
   * Pending signals whose time is over become `expired`. `noticesFor` makes signals about them, from some of them at a
   * time; those and the expiry they are about are stored together or not at all, also across a torn write. It must
   * return at once, and its signals must not be expired themselves.
   */
  expire(now: string, noticesFor?: (expired: readonly Signal[]) => Signal[]): Promise<Expiry>
  /** Number of the persona's signals whose status is `expired`. */
  expiredCount(identity: Identity): number
  /** The persona's expired signals that have no `told_at` mark, oldest first; damaged ones are left out. */
  untold(identity: Identity, limit: number): Promise<Signal[]>
  /**
   * A pending signal becomes `cancelled`: it is not handed out, and a late confirm does not find it. Resolves with the
   * status that the signal had before, null where it is unknown; only a pending one is changed.
   */
  cancel(signal_id: SignalId, now: string): Promise<SignalStatus | null>
  /**
   * A dead (or finished) signal is pending again as if it were new: no deliveries, no stages but its
   * creation, no result; and it has as long from `now` as it had at first. False where there is none such: one that is
   * unknown, that waits or is leased is left alone.
   */
  replay(signal_id: SignalId, now: string): Promise<boolean>
  /**
   * Notes a stage once; a later time for the same stage is ignored. Kept lazily: a crash may lose it, a close not. The times
   * of all stages are kept in order: one that is noted late, or by another clock, is moved to the nearest time that can be
   * true.
   */
  mark(signal_ids: readonly SignalId[], stage: Stage, at: string): void

  read(signal_id: SignalId): Promise<SignalView | null>
  /** Newest first. */
  query(query: SignalQuery): Promise<SignalPage>
  /** Who has how much waiting. */
  depths(): Map<Identity, number>

  /**
   * Forgets signals finished (confirmed, completed, expired, cancelled; never dead) before
   * `now - finished_retention_ms`; one whose idempotency key still has to answer is kept that long.
   * Takes what is forgotten out of the store when that is worth it; a rejection then means that this
   * part was given up. Interrupted anywhere, it loses nothing.
   */
  compact(now: string): Promise<{ forgotten: number }>
  health(): StoreHealth
  /** Flushes, writes what makes the next open fast, lets go of the store. Calling it twice is fine. */
  close(): Promise<void>
}
