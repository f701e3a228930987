/** Cancels a signal that is still pending. */
import { requireSender } from '../lib/caller-guards.ts'
import type { OperationDeps, SignalService } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { timestamp } from '../../ports/clock.ts'

/**
 * Cancelling twice returns the same result. Throws `signal_unknown`, `identity_mismatch` for a recipient that is not its
 * sender, `signal_taken` where it is not pending.
 */
export function createCancel({ store, events, clock }: OperationDeps): SignalService['cancel'] {
  return async (caller, signal_id) => {
    requireSender(caller, 'cancel')
    const view = await store.read(signal_id)
    const by_operator = caller.kind === 'operator'
    if (view === null || !(by_operator || view.from === caller.identity || view.to === caller.identity)) {
      throw new TurnbellError('signal_unknown', {
        detail: `Signal ${signal_id} does not exist or is not visible to ${caller.identity}.`,
      })
    }
    if (!by_operator && view.from !== caller.identity) {
      throw new TurnbellError('identity_mismatch', {
        detail: `Signal ${signal_id} was sent by ${view.from}; only its sender or the operator may cancel it.`,
        hint: 'Mark it as handled with action `ack`.',
      })
    }
    const { to } = view
    const before = await store.cancel(signal_id, timestamp(clock))
    if (before !== 'pending' && before !== 'cancelled') {
      throw new TurnbellError('signal_taken', {
        detail: `Signal ${signal_id} to ${to} is ${before ?? 'forgotten'}.`,
      })
    }
    if (before === 'pending') {
      const pending_count = store.pendingCount(to)
      events.cancelled({ to, by: caller.identity, signal_ids: [signal_id], pending_count })
    }
    return { signal_id, to, status: 'cancelled' }
  }
}
