/** Records the stages of doorbells on the signals they ring for. */
import type { SignalDeps, SignalService } from './types.ts'
import { timestamp } from '../../ports/clock.ts'

export function createDoorbellReports({
  store,
  events,
  clock,
}: SignalDeps): SignalService['doorbellReported'] {
  return async (identity, { signal_id, doorbell_id, stage }) => {
    const signal = await store.read(signal_id)
    if (signal?.to !== identity) return
    // A requested doorbell may still be deferred by its surface.
    if (stage !== 'requested')
      store.mark([signal_id], stage === 'seen' ? 'seen_at' : 'rung_at', timestamp(clock))
    events.rung({ to: identity, signal_id, doorbell_id, stage })
  }
}
