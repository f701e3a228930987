/** Takes back a signal that nobody has drained. */
import { requireSpeaker } from './callers.ts'
import type { SignalParts } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SignalId } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'

export interface Cancelled {
  signal_id: SignalId
  to: Identity
  status: 'cancelled'
}

/**
 * Cancelling twice returns the same answer. Throws `signal_unknown`, `identity_mismatch` for a recipient that did not
 * send it, `signal_taken` where it is not pending.
 */
export async function cancel(needs: SignalParts, caller: Caller, signal_id: SignalId): Promise<Cancelled> {
  requireSpeaker(caller, 'cancel')
  const view = await needs.store.read(signal_id)
  const by_operator = caller.kind === 'operator'
  if (view === null || !(by_operator || view.from === caller.identity || view.to === caller.identity)) {
    throw new TurnbellError('signal_unknown', { detail: `There is no signal ${signal_id} that you may see.` })
  }
  if (!by_operator && view.from !== caller.identity) {
    throw new TurnbellError('identity_mismatch', {
      detail: `The signal ${signal_id} was sent by ${view.from}; only its sender or the operator may cancel it.`,
      hint: 'Mark it as handled with action `ack`.',
    })
  }
  const { to } = view
  const before = await needs.store.cancel(signal_id, timestamp(needs.clock))
  if (before !== 'pending' && before !== 'cancelled') {
    throw new TurnbellError('signal_taken', {
      detail: `The signal ${signal_id} to ${to} is ${before ?? 'forgotten'}.`,
    })
  }
  if (before === 'pending') {
    const pending_count = needs.store.pendingCount(to)
    needs.events.cancelled({ to, by: caller.identity, signal_ids: [signal_id], pending_count })
  }
  return { signal_id, to, status: 'cancelled' }
}
