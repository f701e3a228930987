/** How long a store keeps signals and idempotency keys. The defaults are the protocol's; tests use shorter ones. */
import { LIMITS } from '../contracts/limits/limits.ts'

export interface Retention {
  /** Number of deliveries after which a released signal becomes dead. */
  deliveries_max: number
  idempotency_window_ms: number
  finished_retention_ms: number
}

export const RETENTION: Retention = {
  deliveries_max: LIMITS.deliveries_max,
  idempotency_window_ms: LIMITS.idempotency_window_ms,
  finished_retention_ms: LIMITS.finished_retention_ms,
}
