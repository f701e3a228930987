import type { Json, Seq } from '../contracts/ids.ts'
import type { Signal, SignalStatus, SignalView } from '../contracts/signal.ts'
import type { Lease } from '../ports/signal-store.ts'

/** What a store knows of a signal beside the signal itself. */
export interface Fate {
  seq: Seq
  status: SignalStatus
  deliveries: number
  /** Only while it is tentative. */
  lease: Lease | null
  stages: SignalView['stages']
  result: Json | undefined
}

/** A signal and its fate as `signals read` shows them. */
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
