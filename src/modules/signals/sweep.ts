/** What time does to signals: expiry, leases without a sign of life, and forgetting what is long finished. */
import { expireOverdue } from './expiry.ts'
import type { Leases } from './leases.ts'
import type { SignalNeeds } from './needs.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp } from '../../ports/clock.ts'

export interface Sweeper {
  /**
   * One sweep at a time: a call while one runs joins it. Compaction rewrites large files, so later sweeps
   * go on beside it.
   */
  sweep(): Promise<void>
}

export function createSweeper(needs: SignalNeeds, leases: Leases): Sweeper {
  const { store, clock } = needs
  let running: Promise<void> | null = null
  let compacting: Promise<void> | null = null
  // The first sweep compacts: many a hub lives for less than the interval, and its journal would only grow.
  let compacted_at = -Infinity

  const once = async () => {
    await expireOverdue(needs)
    await leases.sweep()
  }
  const compact = async () => {
    compacted_at = clock.monotonic()
    const { forgotten } = await store.compact(timestamp(clock))
    if (forgotten > 0) needs.log.info({ forgotten }, 'signals finished long ago were forgotten')
  }

  return {
    async sweep() {
      running ??= once().finally(() => (running = null))
      await running
      if (compacting !== null || clock.monotonic() - compacted_at < LIMITS.compaction_interval_ms) return
      compacting = compact().finally(() => (compacting = null))
      await compacting
    },
  }
}
