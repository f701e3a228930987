/** Looks up the signals that a caller may change. */
import type { OperationDeps } from './types.ts'
import type { SignalId } from '../../contracts/ids.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'

/**
 * Finds signals by id. The operator may act on every queue, an agent on its own; signals of others are reported as
 * unknown.
 */
export async function ownSignals(
  { store }: OperationDeps,
  caller: Caller,
  signal_ids: readonly SignalId[],
  isOwn: (signal: SignalView) => boolean = (signal) => signal.to === caller.identity,
): Promise<{ known: SignalView[]; unknown: SignalId[] }> {
  const ids = [...new Set(signal_ids)]
  const views = await Promise.all(ids.map((id) => store.read(id)))
  const known = views.filter(
    (view): view is SignalView => view !== null && (caller.kind === 'operator' || isOwn(view)),
  )
  const known_ids = new Set(known.map((view) => view.signal_id))
  return { known, unknown: ids.filter((id) => !known_ids.has(id)) }
}
