/** What time does to signals: expiry, leases without a sign of life, and forgetting what is long finished. */
import { groupBy, inParts, type Leases } from './leases.ts'
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

/** What nobody took in time is not handed out any more; a drain asks for this before it takes. */
export async function expireOverdue({ store, clock, events }: SignalNeeds): Promise<void> {
  const expired = await store.expire(timestamp(clock))
  for (const [to, signals] of groupBy(expired, (signal) => signal.to)) {
    const signal_ids = signals.map((signal) => signal.signal_id)
    const pending_count = store.pendingCount(to)
    for (const part of inParts(signal_ids)) events.expired({ to, signal_ids: part, pending_count })
  }
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
