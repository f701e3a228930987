/** Periodic work on signals: expiry, leases without a sign of life, and forgetting signals finished long ago. */
import { expireOverdue } from './expiry.ts'
import type { Leases } from './leases.ts'
import type { SignalDeps, SignalService } from './types.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp } from '../../ports/clock.ts'

/**
 * Runs one sweep at a time: a call during a sweep joins it. Compaction rewrites large files, so later sweeps run
 * alongside it.
 */
export function createSweep(deps: SignalDeps, leases: Leases): SignalService['sweep'] {
  const { store, clock } = deps
  let running: Promise<void> | null = null
  let compacting: Promise<void> | null = null
  // The first sweep compacts: many hubs run for less than the interval, and their journal would only grow.
  let compacted_at = -Infinity

  const sweepOnce = async () => {
    await expireOverdue(deps)
    await leases.sweep()
  }
  const compact = async () => {
    compacted_at = clock.monotonic()
    const { forgotten } = await store.compact(timestamp(clock))
    if (forgotten > 0) deps.log.info({ forgotten }, 'finished signals forgotten')
  }

  return async () => {
    running ??= sweepOnce().finally(() => (running = null))
    await running
    if (compacting !== null || clock.monotonic() - compacted_at < LIMITS.compaction_interval_ms) return
    compacting = compact().finally(() => (compacting = null))
    await compacting
  }
}
