/**
 * Stores signals and their changes. The promises below are the contract: every store passes
 * `test/suites/signal-store.suite.ts`, which checks them in this order.
 *
 * A method that has resolved has made its change durable: it survives a crash of this process and
 * of the machine. A store that can no longer promise that rejects with `store_unavailable` for good,
 * and never confirms a change that is not durable.
 *
 * Changes take effect at the call, in the order of the calls: a signal counts as pending, and can be drained,
 * before its append has resolved. It is reported only after it is durable, because a later change is never
 * durable before an earlier one. Therefore `readPending`, `read` and `query` wait until their results are durable.
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
  /** Maximum total bytes of the returned signals; at least one is returned. */
  bytes_max?: number
  /** Size of a signal as it will be displayed. Default: its payload as JSON. */
  bytesOf?: (drained: Drained) => number
  /** Other live sessions; signals addressed (`to_session`) to one of them are skipped. */
  except_sessions?: readonly SessionId[]
}

export interface Drained {
  signal: Signal
  seq: Seq
  /** Number of deliveries. The result of a drain includes that drain: 1 at the first delivery. */
  deliveries: number
}

export interface Released {
  signal_id: SignalId
  to: Identity
  /** `pending` again, or `dead` after too many deliveries. */
  status: 'pending' | 'dead'
}

/** A signal and the lease under which it was drained. */
export interface LeasedSignal {
  signal_id: SignalId
  drain_id: DrainId
}

export interface Confirmed {
  /** Confirmed signals in the order of the drain. */
  confirmed: SignalId[]
  /** Confirmed signals that had been pending again; they leave the queue. */
  waited: SignalId[]
}

/** A signal whose drain is final and which its recipient has not completed. */
export interface InProgressSignal {
  signal_id: SignalId
  from: Identity
  intent: string
  /** ISO time of the drain. */
  drained_at: string
}

export interface InProgressQuery {
  /** Maximum number of returned signals. */
  limit: number
  /** Only signals of which no session was notified, and which none of these sessions drained. */
  unnotified_except?: readonly SessionId[]
}

export interface Completed {
  completed: SignalId[]
  /** Completed signals that were pending; they leave the queue without a drain. */
  waited: SignalId[]
  already: SignalId[]
  unknown: SignalId[]
}

/** `told_at`: the recipient was notified of the expiry. It is not among the displayed stages. */
export type Stage = 'pushed_at' | 'rung_at' | 'seen_at' | 'told_at'

export interface Expiry {
  expired: { signal_id: SignalId; to: Identity }[]
  /** Notices in the order in which they were created. */
  notices: Appended[]
}

export interface SignalQuery {
  to?: Identity
  from?: Identity
  status?: readonly SignalStatus[]
  in_reply_to?: SignalId
  /** Only signals that this session holds under a lease. */
  leased_to?: SessionId
  /** Only signals before this seq. */
  before_seq?: Seq
  limit: number
  /** Maximum total bytes of the page; at least one match is returned. */
  bytes_max?: number
}

export interface SignalPage {
  signals: SignalView[]
  /** `before_seq` of the next page; null if there are no more matches. */
  next: Seq | null
}

export interface StoreHealth {
  writable: boolean
  /** Why the store is not writable, for the operator; `hint` is what to do about it. */
  reason: string | null
  hint: string | null
  signals: number
  pending: number
  /** The highest assigned seq; 0 in an empty store. */
  last_seq: Seq
  /** The highest stored signal id, for `Ids.startAfter`. */
  last_signal_id: SignalId | null
}

/** The stored signal: the appended one, or the first one with its idempotency key (`repeated`). */
export interface Appended {
  seq: Seq
  signal_id: SignalId
  repeated: boolean
}

export interface SignalStore {
  /**
   * Resolves with the signal's seq when it is durable. Seqs ascend by one in call order. If the sender has used the
   * `idempotency_key` within the window, resolves with the first signal's seq and id and stores nothing; the window starts
   * at the first signal's `created_at`. If the two requests differ (recipient, intent, payload, topic, priority,
   * `reply_to`, `in_reply_to` or `to_session`), rejects with `idempotency_key_reused` and stores nothing.
   */
  append(signal: Signal): Promise<Appended>
  /**
   * Appends the signals of a broadcast, all or nothing, in order, also across a torn write. A used key, also one used within
   * the same call, stores nothing, as in `append`.
   */
  appendAll(signals: readonly Signal[]): Promise<Appended[]>
  /**
   * Returns the signal that `append` would return as repeated for this key, at the given time or now. Unlike `append`, does
   * not wait until it is durable.
   */
  findByKey(
    from: Identity,
    idempotency_key: string,
    at?: string,
  ): { seq: Seq; signal_id: SignalId; request_digest?: string | undefined } | null

  /**
   * Returns the pending signals of a persona, highest priority first, then oldest, without those addressed to one of
   * `except_sessions`. Changes nothing.
   */
  peek(identity: Identity, limit: number, except_sessions?: readonly SessionId[]): PendingEntry[]
  /** Returns the persona's last sent pending signals, newest first. Changes nothing. */
  newestPending(identity: Identity, limit: number): PendingEntry[]
  /** Number of pending signals, with the same exception. A signal counts from the call of `append` on. */
  pendingCount(identity: Identity, except_sessions?: readonly SessionId[]): number
  /** Returns pending signals with bodies, in the same order, without a lease; used for `peek: true`. */
  readPending(identity: Identity, limit: number, except_sessions?: readonly SessionId[]): Promise<Drained[]>

  /**
   * Returns pending signals, highest priority first, then oldest. A returned signal is `acked` under the lease and hidden from
   * other drains until the lease is confirmed, completed or released. Concurrent drains share no signal. A pending signal is
   * returned whatever its `expires_at`; only `expire` changes it to expired.
   */
  drain(identity: Identity, request: DrainRequest): Promise<Drained[]>
  /** Makes the ack of the lease's signals final. Unknown or empty leases confirm nothing. */
  confirm(drain_id: DrainId, now: string): Promise<Confirmed>
  /**
   * Returns the lease's signals to `pending`, or to `dead` past `deliveries_max`, in the order of the drain. A later confirm
   * for this drain_id still counts, also for a signal that died or expired, unless it was drained, completed or replayed
   * after the release.
   */
  release(drain_id: DrainId): Promise<Released[]>
  /**
   * Releases some of the persona's leased signals, and skips signals that are not under the given lease. They leave the lease
   * for good: a later confirm does not include them.
   */
  releaseSignals(identity: Identity, leased: readonly LeasedSignal[]): Promise<Released[]>
  /** Number of the persona's signals in progress: their drain is final, and they are not completed. */
  inProgressCount(identity: Identity): number
  /** Returns the persona's matching signals in progress, newest first, and their total number. Waits like `read`. */
  inProgress(
    identity: Identity,
    query: InProgressQuery,
  ): Promise<{ count: number; signals: InProgressSignal[] }>
  /**
   * Records that a later session was notified of these signals in progress; skips others. A new drain or a replay of a signal
   * clears the record.
   */
  markNotified(signal_ids: readonly SignalId[]): Promise<void>
  /** Returns the leases that are neither confirmed, completed nor released. */
  leases(): { drain_id: DrainId; session_id: SessionId; identity: Identity; signal_ids: SignalId[] }[]

  /**
   * Completes signals that the persona has handled. Unknown ids (or another persona's) are reported, not an error, because an
   * agent may ack twice after a crash. A pending, dead or expired signal can be completed; completing it again changes
   * nothing and reports it in `already`. A cancelled signal counts as unknown.
   */
  complete(
    identity: Identity,
    signal_ids: readonly SignalId[],
    result: Json | undefined,
    now: string,
  ): Promise<Completed>
  /**
   * Changes overdue pending signals to `expired`. `noticesFor` creates notices for a part of them at a time; notices and
   * their expiry are stored together or not at all, also across a torn write. It must be synchronous, and its signals must
   * not be overdue themselves.
   */
  expire(now: string, noticesFor?: (expired: readonly Signal[]) => Signal[]): Promise<Expiry>
  /** Number of the persona's signals whose status is `expired`. */
  expiredCount(identity: Identity): number
  /** Returns the persona's expired signals without a `told_at` mark, oldest first, without damaged ones. */
  unnotifiedExpired(identity: Identity, limit: number): Promise<Signal[]>
  /**
   * Cancels a pending signal: it is not delivered, and a late confirm does not include it. Resolves with the previous status,
   * null for an unknown signal; only a pending one is changed.
   */
  cancel(signal_id: SignalId, now: string): Promise<SignalStatus | null>
  /**
   * Makes a dead or finished signal pending again as if it were new: no deliveries, no stages but its creation, no result,
   * and its original lifetime from `now` on. Returns false for an unknown, pending or leased signal.
   */
  replay(signal_id: SignalId, now: string): Promise<boolean>
  /**
   * Records a stage once; a later time for the same stage is ignored. Written lazily: a crash may lose it, a close does not.
   * Stages are kept in order: a time reported late, or by another clock, is moved to the nearest possible time.
   */
  mark(signal_ids: readonly SignalId[], stage: Stage, at: string): void

  read(signal_id: SignalId): Promise<SignalView | null>
  /** Newest first. */
  query(query: SignalQuery): Promise<SignalPage>
  /** Returns the number of pending signals by persona. */
  pendingCounts(): Map<Identity, number>

  /**
   * Forgets signals finished (confirmed, completed, expired, cancelled; never dead) before
   * `now - finished_retention_ms`, except while their idempotency key is valid. Removes forgotten signals
   * from disk if they waste enough space; a rejection means that only this part failed. An interruption
   * loses nothing.
   */
  compact(now: string): Promise<{ forgotten: number }>
  health(): StoreHealth
  /** Flushes, writes a snapshot for the next open, and releases the store. May be called twice. */
  close(): Promise<void>
}
