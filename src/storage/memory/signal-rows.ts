/** The rows of the in-memory signal store, and the changes of a row: queued, leased, released, forgotten. */
import type { Identity, Json, Seq, SessionId, SignalId } from '../../contracts/ids.ts'
import type { Signal, SignalStatus, SignalView } from '../../contracts/signal.ts'
import type { Appended, Lease, Released } from '../../ports/signal-store.ts'
import type { Retention } from '../retention.ts'
import { reuseRefusal } from '../same-request.ts'
import { timeInOrder, type ObservedStage } from '../stage-order.ts'

export interface Row {
  signal: Signal
  seq: Seq
  status: SignalStatus
  deliveries: number
  /** `held` while tentative. Kept after a release for a late confirm. */
  lease: (Lease & { held: boolean }) | null
  /** Session of the last drain. */
  taken_by: SessionId | null
  /** A later session was notified that it is in progress. */
  notified: boolean
  /** Lifetime with which it was accepted. */
  life_ms: number
  stages: SignalView['stages']
  result?: Json
  /** Time at which the recipient was notified of the expiry. */
  told_at?: string
}

export class SignalRows {
  /** In the order of seq. */
  readonly byId = new Map<SignalId, Row>()
  /** Pending rows by persona, highest priority first, then oldest. */
  readonly waiting = new Map<Identity, Row[]>()
  /** Rows by drain_id, in the order of the drain; includes released rows. */
  readonly leased = new Map<string, Row[]>()
  last_seq = 0
  last_signal_id: SignalId | null = null
  private readonly keys = new Map<string, Row>()
  private readonly retention: Retention

  constructor(retention: Retention) {
    this.retention = retention
  }

  filter(matches: (row: Row) => boolean): Row[] {
    return [...this.byId.values()].filter(matches)
  }

  pending(identity: Identity, except: readonly SessionId[] = []): readonly Row[] {
    const queue = this.waiting.get(identity) ?? []
    if (except.length === 0) return queue
    return queue.filter(
      ({ signal }) => signal.to_session === undefined || !except.includes(signal.to_session),
    )
  }

  /** Returns the row that owns the key, if it is still within the idempotency window. */
  findByKey(from: Identity, key: string | undefined, now_ms: number): Row | null {
    const first = key === undefined ? undefined : this.keys.get(keyOf(from, key))
    if (first === undefined) return null
    return now_ms - Date.parse(first.signal.created_at) < this.retention.idempotency_window_ms ? first : null
  }

  /** Stores the signal, or returns the first one with its key. Throws `idempotency_key_reused` if they differ. */
  accept(signal: Signal): Appended {
    const first = this.findByKey(signal.from, signal.idempotency_key, Date.parse(signal.created_at))
    const refusal = first === null ? null : reuseRefusal(first.signal, signal)
    if (refusal !== null) throw refusal
    const { seq, signal: stored } = first ?? this.add(signal)
    return { seq, signal_id: stored.signal_id, repeated: first !== null }
  }

  enqueue(row: Row): void {
    const queue = this.waiting.get(row.signal.to) ?? []
    const { priority } = row.signal
    const at = queue.findIndex(
      (other) =>
        other.signal.priority < priority || (other.signal.priority === priority && other.seq > row.seq),
    )
    queue.splice(at === -1 ? queue.length : at, 0, row)
    this.waiting.set(row.signal.to, queue)
    row.status = 'pending'
  }

  setStatus(row: Row, status: SignalStatus): void {
    if (row.status === 'pending') removeFrom(this.waiting, row.signal.to, row)
    row.status = status
  }

  leaveLease(row: Row): void {
    if (row.lease === null) return
    removeFrom(this.leased, row.lease.drain_id, row)
    row.lease = null
  }

  release(row: Row): Released {
    if (row.lease !== null) row.lease.held = false
    if (row.deliveries > this.retention.deliveries_max) this.setStatus(row, 'dead')
    else this.enqueue(row)
    const { signal_id, to } = row.signal
    return { signal_id, to, status: row.status === 'dead' ? 'dead' : 'pending' }
  }

  forget(row: Row): void {
    const { signal_id, from, idempotency_key } = row.signal
    this.leaveLease(row)
    this.byId.delete(signal_id)
    if (idempotency_key === undefined) return
    const key = keyOf(from, idempotency_key)
    if (this.keys.get(key) === row) this.keys.delete(key)
  }

  private add(signal: Signal): Row {
    const row: Row = {
      signal: structuredClone(signal),
      seq: ++this.last_seq,
      status: 'pending',
      deliveries: 0,
      lease: null,
      taken_by: null,
      notified: false,
      life_ms: Date.parse(signal.expires_at) - Date.parse(signal.created_at),
      stages: justCreated(signal),
    }
    this.byId.set(signal.signal_id, row)
    this.enqueue(row)
    if (signal.idempotency_key !== undefined) this.keys.set(keyOf(signal.from, signal.idempotency_key), row)
    if (this.last_signal_id === null || signal.signal_id > this.last_signal_id)
      this.last_signal_id = signal.signal_id
    return row
  }
}

export function keyOf(from: Identity, key: string): string {
  return `${from} ${key}`
}

/** Sets the time so that the stages of the row stay in order. */
export function setStage({ signal, stages }: Row, stage: ObservedStage, at: string): void {
  const ms = timeInOrder(stage, Date.parse(at), Date.parse(signal.created_at), (other) => {
    const time = stages[other]
    return time === null ? null : Date.parse(time)
  })
  stages[stage] = new Date(ms).toISOString()
}

export function isInProgress({ status, lease }: Row): boolean {
  return status === 'acked' && lease?.held !== true
}

export function finishedAt({ status, lease, stages, signal }: Row): string | null {
  if (status === 'completed') return stages.completed_at
  if (status === 'expired') return signal.expires_at
  if (status === 'cancelled') return stages.cancelled_at ?? null
  return status === 'acked' && lease === null ? stages.confirmed_at : null
}

export function justCreated({ created_at }: Signal): Row['stages'] {
  return {
    created_at,
    pushed_at: null,
    rung_at: null,
    seen_at: null,
    drained_at: null,
    confirmed_at: null,
    completed_at: null,
  }
}

function removeFrom<K>(queues: Map<K, Row[]>, key: K, row: Row): void {
  const left = (queues.get(key) as Row[]).filter((other) => other !== row)
  if (left.length > 0) queues.set(key, left)
  else queues.delete(key)
}
