/** What decides when a store lets go of something. The defaults are the protocol's; tests shorten them. */
import { LIMITS } from '../contracts/limits.ts'

export interface Retention {
  /** A signal that came back more often than this is dead. */
  deliveries_max: number
  idempotency_window_ms: number
  finished_retention_ms: number
}

export const RETENTION: Retention = {
  deliveries_max: LIMITS.deliveries_max,
  idempotency_window_ms: LIMITS.idempotency_window_ms,
  finished_retention_ms: LIMITS.finished_retention_ms,
}
