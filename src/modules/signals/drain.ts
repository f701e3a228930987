/** Drains an agent's pending signals. The drain is the acknowledgment, tentative under a lease. */
import { ensureOwnPersona, requireActive, requireAgent, sessionOf } from '../lib/caller-guards.ts'
import type { InProgress } from './in-progress.ts'
import type { Lease } from './lease-state.ts'
import type { Leases } from './leases.ts'
import { expireOverdue, toExpiredSignal } from './expiry.ts'
import type { OperationDeps, SignalService } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { DrainedSignal, DrainInput, DrainResult, Signal } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'
import type { Drained } from '../../ports/signal-store.ts'
import { itemBytes } from '../lib/truncate-to-bytes.ts'

/** Estimate for JSON; `max_tokens` is a request of the caller, not a bound of the protocol. */
const BYTES_PER_TOKEN = 4
const ENVELOPE_BYTES = 60

/** What the store handed out under a lease, and the expired signals that the answer reports. */
interface Taken {
  drained: Drained[]
  expired: Signal[]
  except: SessionId[]
}

export function createDrain(
  deps: OperationDeps,
  leases: Leases,
  in_progress: InProgress,
): SignalService['drain'] {
  return async (caller, input, answer) => {
    requireAgent(caller)
    const { identity } = caller
    const drain_id = deps.ids.next()
    // Each drain by the operator is a session of its own: a later one must not confirm an answer that was never shown.
    const session_id = caller.kind === 'operator' ? `${caller.identity}:${drain_id}` : sessionOf(caller)
    const before = workBeforeDrain(deps, leases, caller, input)
    leases.sessionSeen(identity, session_id)
    if (input.peek) {
      if (before !== null) await before
      return peek(deps, caller, session_id, input)
    }

    // Opened before the first await, so that losing the session meanwhile finds the lease.
    const lease = leases.open(drain_id, identity, session_id)
    const { drained, expired, except } = await takePending(deps, leases, caller, input, {
      lease,
      before,
      answer,
    })
    if (!leases.isOpen(lease)) {
      await leases.releaseLost(lease)
      throw sessionLostError(caller, session_id)
    }
    const remaining = deps.store.pendingCount(identity, except)
    const expired_part = reportExpired(deps, expired, answer)
    // Signals that the person has read are not in progress.
    const inProgressPart = async () =>
      caller.kind === 'operator' ? {} : in_progress.noticeFor(identity, session_id, answer)
    if (drained.length === 0) {
      leases.discard(lease)
      return { signals: [], remaining, drain_id: null, ...expired_part, ...(await inProgressPart()) }
    }
    const signal_ids = drained.map(({ signal }) => signal.signal_id)
    deps.events.drained({
      to: identity,
      signal_ids,
      session_id,
      drain_id,
      pending_count: deps.store.pendingCount(identity),
    })
    leases.attachAnswer(lease, signal_ids, answer)
    const signals = drained.map(toDrainedSignal)
    return { signals, remaining, drain_id, ...expired_part, ...(await inProgressPart()) }
  }
}

/** Creates the caller's persona and confirms its earlier drain; null where there is nothing to wait for. */
function workBeforeDrain(
  deps: OperationDeps,
  leases: Leases,
  caller: Caller,
  { confirm }: DrainInput,
): Promise<void> | null {
  const joining = ensureOwnPersona(deps, caller)
  if (confirm === undefined) return joining
  const confirming = () => leases.confirm(caller, confirm)
  return joining === null ? confirming() : joining.then(confirming)
}

/** Drains the store under the lease, and releases that where anything fails. */
async function takePending(
  deps: OperationDeps,
  leases: Leases,
  caller: Caller,
  input: DrainInput,
  { lease, before, answer }: { lease: Lease; before: Promise<void> | null; answer: SentAnswer },
): Promise<Taken> {
  const { store, clock } = deps
  const { drain_id, identity, session_id } = lease
  try {
    // Without earlier work the drain takes effect at the call.
    if (before !== null) await before
    requireActive(deps, caller)
    if (!leases.isOpen(lease)) throw sessionLostError(caller, session_id)
    const except = otherSessions(deps, identity, session_id)
    // Takes effect at the call; awaited with the drain, so that a session lost meanwhile finds its lease.
    const expiring = expireOverdue(deps)
    expiring.catch(() => {})
    leases.nextDrain(identity, session_id, answer)
    const draining = store.drain(identity, {
      drain_id,
      session_id,
      limit: input.limit,
      now: timestamp(clock),
      bytes_max: bytesMax(input),
      bytesOf: (one) => itemBytes(toDrainedSignal(one)),
      except_sessions: except,
    })
    // The store keeps the order of calls and commits both together.
    const [drained, expired] = await Promise.all([
      draining,
      store.unnotifiedExpired(identity, LIMITS.expired_per_drain_max),
      expiring,
    ])
    return { drained, expired, except }
  } catch (error) {
    // No signal was handed out. If the store cannot release the lease now, its next start does.
    await leases.releaseLost(lease).catch(() => undefined)
    throw error
  }
}

/** Signals of the caller that expired; marked as reported once the answer is written. */
function reportExpired(
  { store, clock }: OperationDeps,
  expired: readonly Signal[],
  answer: SentAnswer,
): Pick<DrainResult, 'expired'> {
  if (expired.length === 0) return {}
  void answer.written().then((how) => {
    if (how === 'broken') return
    const signal_ids = expired.map((signal) => signal.signal_id)
    store.mark(signal_ids, 'told_at', timestamp(clock))
  })
  return { expired: expired.map(toExpiredSignal) }
}

async function peek(
  deps: OperationDeps,
  caller: Caller,
  session_id: SessionId,
  input: DrainInput,
): Promise<DrainResult> {
  const { store } = deps
  const { identity } = caller
  await expireOverdue(deps)
  requireActive(deps, caller)
  const except = otherSessions(deps, identity, session_id)
  const pending = (await store.readPending(identity, input.limit, except)).map(toDrainedSignal)
  const signals = truncateToBudget(pending, bytesMax(input))
  return { signals, remaining: store.pendingCount(identity, except) - signals.length, drain_id: null }
}

function sessionLostError({ identity }: Caller, session_id: SessionId): TurnbellError {
  return new TurnbellError('binding_stale', {
    detail: `Session ${session_id} of ${identity} was lost while it drained; its signals are pending again.`,
  })
}

/** Other live sessions of the persona: signals addressed to them are not handed out. */
export function otherSessions(deps: OperationDeps, identity: Identity, own: SessionId | null): SessionId[] {
  return deps.sessions(identity).filter((session_id) => session_id !== own)
}

/** The signal as the agent reads it, without the fields that only the hub needs. */
function toDrainedSignal({ signal, deliveries }: Drained): DrainedSignal {
  return {
    signal_id: signal.signal_id,
    from: signal.from,
    origin: signal.origin,
    to: signal.to,
    intent: signal.intent,
    ...(signal.topic === undefined ? {} : { topic: signal.topic }),
    payload: signal.payload,
    priority: signal.priority,
    ...(signal.reply_to === undefined ? {} : { reply_to: signal.reply_to }),
    ...(signal.in_reply_to === undefined ? {} : { in_reply_to: signal.in_reply_to }),
    created_at: signal.created_at,
    deliveries,
  }
}

/** Maximum size of the signals in one answer, as JSON bytes. */
function bytesMax({ max_tokens }: DrainInput): number {
  if (max_tokens === undefined) return LIMITS.drain_bytes_max
  return Math.min(LIMITS.drain_bytes_max, max_tokens * BYTES_PER_TOKEN - ENVELOPE_BYTES)
}

/** Keeps at least one signal, as a drain does. */
function truncateToBudget(signals: DrainedSignal[], bytes_max: number): DrainedSignal[] {
  let left = bytes_max
  const first_over = signals.findIndex((signal) => {
    left -= itemBytes(signal)
    return left < 0
  })
  return first_over === -1 ? signals : signals.slice(0, Math.max(1, first_over))
}
