/** Makes signals pending again on request: `release` leased signals, `replay` dead or finished ones. */
import { ownSignals } from './owned-signals.ts'
import { belongsToOtherSession, requireSender } from '../lib/caller-guards.ts'
import type { Leases } from './leases.ts'
import type { OperationDeps, SignalService } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import { groupBy } from '../lib/group-by.ts'

export function createRelease(deps: OperationDeps, leases: Leases): SignalService['release'] {
  return async (caller, { signal_ids }) => {
    requireSender(caller, 'release')
    const { known } = await ownSignals(deps, caller, signal_ids)
    const released: SignalId[] = []
    // Released with the drain_id of the lookup: another session may drain a signal before the store is called.
    const leased = known.flatMap(({ signal_id, to, drain_id, leased_to }) =>
      drain_id === undefined || belongsToOtherSession(caller, leased_to) ? [] : [{ signal_id, to, drain_id }],
    )
    for (const [to, signals] of groupBy(leased, (signal) => signal.to)) {
      const done = await deps.store.releaseSignals(to, signals)
      for (const drain_id of new Set(signals.map((signal) => signal.drain_id)))
        leases.signalsReleased(drain_id)
      leases.publishReleased(done, 'asked')
      released.push(...done.map((signal) => signal.signal_id))
    }
    return { released, unknown: missing(signal_ids, released) }
  }
}

export function createReplay(deps: OperationDeps): SignalService['replay'] {
  return async (caller, { signal_ids }) => {
    requireSender(caller, 'replay')
    const { known } = await ownSignals(
      deps,
      caller,
      signal_ids,
      (signal) => signal.to === caller.identity || signal.from === caller.identity,
    )
    checkQueues(deps, known)
    const now = timestamp(deps.clock)
    // A cancelled signal is replayed only for its sender or the operator.
    const allowed = known.filter(({ status, from }) => status !== 'cancelled' || isSender(caller, from))
    const outcomes = await Promise.all(allowed.map(({ signal_id }) => deps.store.replay(signal_id, now)))
    const replayed = allowed.flatMap(({ signal_id }, index) => (outcomes[index] === true ? [signal_id] : []))
    for (const [to, signals] of groupBy(known, (signal) => signal.to)) {
      const done = signals.map((signal) => signal.signal_id).filter((id) => replayed.includes(id))
      if (done.length === 0) continue
      deps.events.replayed({ to, signal_ids: done, pending_count: deps.store.pendingCount(to) })
    }
    return { replayed, unknown: missing(signal_ids, replayed) }
  }
}

function isSender({ kind, identity }: Caller, from: Identity): boolean {
  return kind === 'operator' || identity === from
}

/** Throws `target_wrapped` or `queue_full` where a queue cannot take the signals. */
function checkQueues(deps: OperationDeps, signals: readonly SignalView[]): void {
  for (const [to, to_replay] of groupBy(signals, (signal) => signal.to)) {
    const persona = deps.personas.get(to)
    if (persona !== null && persona.state !== 'active') {
      throw new TurnbellError('target_wrapped', { detail: `${to} is ${persona.state}.` })
    }
    // Pending and leased signals are not replayed, and are in the count already.
    const added = to_replay.filter(({ status, leased_to }) => status !== 'pending' && leased_to === undefined)
    if (added.length > 0 && deps.store.pendingCount(to) + added.length > LIMITS.queue_depth_max) {
      throw new TurnbellError('queue_full', {
        detail: `${to} would have more than ${LIMITS.queue_depth_max} pending signals.`,
      })
    }
  }
}

function missing(signal_ids: readonly SignalId[], done: readonly SignalId[]): SignalId[] {
  const done_ids = new Set(done)
  return [...new Set(signal_ids)].filter((id) => !done_ids.has(id))
}
