/** Signals go back to pending because somebody asks: `release` what is leased, `replay` what is dead or finished. */
import { ownSignals } from './ack.ts'
import { requireSpeaker } from './callers.ts'
import { groupBy, type Leases } from './leases.ts'
import type { SignalParts } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import {
  ANONYMOUS_SESSION_PREFIX,
  type Identity,
  type SessionId,
  type SignalId,
} from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'

export async function release(
  needs: SignalParts,
  leases: Leases,
  caller: Caller,
  signal_ids: SignalId[],
): Promise<{ released: SignalId[]; unknown: SignalId[] }> {
  requireSpeaker(caller, 'release')
  const { known } = await ownSignals(needs, caller, signal_ids)
  const released: SignalId[] = []
  // Under the lease it was seen under: one that another session has drained since is not the caller's to give back.
  const leased = known.flatMap(({ signal_id, to, drain_id, leased_to }) =>
    drain_id === undefined || isOfAnother(caller, leased_to) ? [] : [{ signal_id, to, drain_id }],
  )
  for (const [to, signals] of groupBy(leased, (signal) => signal.to)) {
    const back = await needs.store.releaseSignals(to, signals)
    for (const drain_id of new Set(signals.map((signal) => signal.drain_id))) leases.givenBack(drain_id)
    leases.tellReleased(back, 'asked')
    released.push(...back.map((signal) => signal.signal_id))
  }
  return { released, unknown: missing(signal_ids, released) }
}

/** Who asks may have looked before another session drained it. Where one of the two has no name nothing tells them apart. */
function isOfAnother({ kind, session_id }: Caller, leased_to: SessionId | undefined): boolean {
  if (kind !== 'agent' || session_id === undefined || leased_to === undefined) return false
  return leased_to !== session_id && !leased_to.startsWith(ANONYMOUS_SESSION_PREFIX)
}

export async function replay(
  needs: SignalParts,
  caller: Caller,
  signal_ids: SignalId[],
): Promise<{ replayed: SignalId[]; unknown: SignalId[] }> {
  requireSpeaker(caller, 'replay')
  const { known } = await ownSignals(
    needs,
    caller,
    signal_ids,
    (signal) => signal.to === caller.identity || signal.from === caller.identity,
  )
  checkRoom(needs, known)
  const now = timestamp(needs.clock)
  // A cancelled signal is replayed only for its sender or the operator.
  const wanted = known.filter(({ status, from }) => status !== 'cancelled' || isSenders(caller, from))
  const outcomes = await Promise.all(wanted.map(({ signal_id }) => needs.store.replay(signal_id, now)))
  const replayed = wanted.flatMap(({ signal_id }, place) => (outcomes[place] === true ? [signal_id] : []))
  for (const [to, signals] of groupBy(known, (signal) => signal.to)) {
    const back = signals.map((signal) => signal.signal_id).filter((id) => replayed.includes(id))
    if (back.length === 0) continue
    needs.events.replayed({ to, signal_ids: back, pending_count: needs.store.pendingCount(to) })
  }
  return { replayed, unknown: missing(signal_ids, replayed) }
}

function isSenders({ kind, identity }: Caller, from: Identity): boolean {
  return kind === 'operator' || identity === from
}

function checkRoom(needs: SignalParts, signals: readonly SignalView[]): void {
  for (const [to, more] of groupBy(signals, (signal) => signal.to)) {
    const persona = needs.personas.get(to)
    if (persona !== null && persona.state !== 'active') {
      throw new TurnbellError('target_wrapped', { detail: `${to} is ${persona.state}.` })
    }
    // One that waits or is leased is left alone, and takes no more room.
    const added = more.filter(({ status, leased_to }) => status !== 'pending' && leased_to === undefined)
    if (added.length > 0 && needs.store.pendingCount(to) + added.length > LIMITS.queue_depth_max) {
      throw new TurnbellError('queue_full', {
        detail: `${to} would have more than ${LIMITS.queue_depth_max} signals waiting.`,
      })
    }
  }
}

function missing(asked: readonly SignalId[], done: readonly SignalId[]): SignalId[] {
  const found = new Set(done)
  return [...new Set(asked)].filter((id) => !found.has(id))
}
