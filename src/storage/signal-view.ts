/** The view of a signal as `signals read` returns it. */
import type { Json, Seq } from '../contracts/ids.ts'
import type { Signal, SignalStatus, SignalView } from '../contracts/signal.ts'
import type { Lease } from '../ports/signal-store.ts'

/** State of a signal in a store, in addition to the signal itself. */
export interface Fate {
  seq: Seq
  status: SignalStatus
  deliveries: number
  /** Null unless the drain is tentative. */
  lease: Lease | null
  stages: SignalView['stages']
  result: Json | undefined
}

/** Combines a signal and its state into a view. */
export function viewOf(signal: Signal, { seq, status, deliveries, lease, stages, result }: Fate): SignalView {
  const { created_at: _, idempotency_key: __, request_digest: ___, ...shown } = signal
  return {
    ...shown,
    seq,
    status,
    deliveries,
    ...(lease === null ? {} : { leased_to: lease.session_id, drain_id: lease.drain_id }),
    ...(result === undefined ? {} : { result }),
    stages,
  }
}
