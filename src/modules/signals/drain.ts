/** An agent takes its pending signals. The drain is the acknowledgment, tentative under a lease. */
import { ensureOwnPersona, requireActive, requireAgent, sessionOf } from './callers.ts'
import { defang, defangText, shownBytes } from './defang.ts'
import type { InProgress } from './in-progress.ts'
import type { Leases } from './leases.ts'
import { expireOverdue, toldAs } from './expiry.ts'
import type { SignalParts } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { DrainedSignal, DrainInput, DrainResult, Signal } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import type { Drained } from '../../ports/signal-store.ts'

/** What a model's tokenizer makes of JSON, roughly; `max_tokens` is a wish, not a bound of the protocol. */
const BYTES_PER_TOKEN = 4
const ENVELOPE_BYTES = 60

export async function drain(
  needs: SignalParts,
  { leases, in_progress }: { leases: Leases; in_progress: InProgress },
  caller: Caller,
  input: DrainInput,
  answered: Promise<'written' | 'broken'>,
): Promise<DrainResult> {
  requireAgent(caller)
  const { identity } = caller
  const drain_id = needs.ids.next()
  // Each drain by the operator is a session of its own: a later one must not confirm what was never shown.
  const session_id = caller.kind === 'operator' ? `${caller.identity}:${drain_id}` : sessionOf(caller)
  const first = whatGoesFirst(needs, leases, caller, input)
  leases.seen(identity, session_id)
  if (input.peek) {
    if (first !== null) await first
    return peek(needs, caller, session_id, input)
  }

  const { store } = needs
  const { limit } = input
  // Opened before anything is waited for, so that a loss of the session meanwhile finds it.
  const lease = leases.open(drain_id, identity, session_id)
  let except: SessionId[]
  let drained: Drained[]
  let untold: Signal[]
  try {
    // Where there is nothing to wait for, it takes at the call.
    if (first !== null) await first
    requireActive(needs, caller)
    if (!leases.stands(lease)) throw lost(caller, session_id)
    except = otherSessions(needs, identity, session_id)
    // Takes effect at the call; awaited with the drain, so that a session lost meanwhile finds its lease.
    const expired = expireOverdue(needs)
    expired.catch(() => {})
    leases.followed(identity, session_id, answered)
    const taken = store.drain(identity, {
      drain_id,
      session_id,
      limit,
      now: timestamp(needs.clock),
      bytes_max: bytesMax(input),
      bytesOf: (one) => shownBytes(present(one)),
      except_sessions: except,
    })
    // The store keeps the order of calls and commits both together.
    ;[drained, untold] = await Promise.all([taken, store.untold(identity, LIMITS.expired_told_max), expired])
  } catch (error) {
    // Nothing was handed out. Where the store cannot even take it back, its next opening does.
    await leases.takeBack(lease).catch(() => undefined)
    throw error
  }

  if (!leases.stands(lease)) {
    await leases.takeBack(lease)
    throw lost(caller, session_id)
  }
  const remaining = store.pendingCount(identity, except)
  const named = untold.length === 0 ? {} : { expired: untold.map(toldAs) }
  if (untold.length > 0) {
    void answered.then((how) => {
      if (how === 'broken') return
      const signal_ids = untold.map((signal) => signal.signal_id)
      store.mark(signal_ids, 'told_at', timestamp(needs.clock))
    })
  }
  // What the person has read is not in progress.
  const unfinished = async () =>
    caller.kind === 'operator' ? {} : in_progress.tell(identity, session_id, answered)
  if (drained.length === 0) {
    leases.forget(lease)
    return {
      signals: [],
      remaining,
      drain_id: null,
      ...named,
      ...(await unfinished()),
    }
  }
  const signal_ids = drained.map(({ signal }) => signal.signal_id)
  needs.events.drained({
    to: identity,
    signal_ids,
    session_id,
    drain_id,
    pending_count: store.pendingCount(identity),
  })
  leases.settle(lease, signal_ids, answered)
  const signals = drained.map(present)
  return { signals, remaining, drain_id, ...named, ...(await unfinished()) }
}

/** Its persona is made, and what it confirms is confirmed; null where neither is to be waited for. */
function whatGoesFirst(
  needs: SignalParts,
  leases: Leases,
  caller: Caller,
  { confirm }: DrainInput,
): Promise<void> | null {
  const joining = ensureOwnPersona(needs, caller)
  if (confirm === undefined) return joining
  const confirming = () => leases.confirm(caller.identity, confirm)
  return joining === null ? confirming() : joining.then(confirming)
}

async function peek(
  needs: SignalParts,
  caller: Caller,
  session_id: SessionId,
  input: DrainInput,
): Promise<DrainResult> {
  const { store } = needs
  const { identity } = caller
  await expireOverdue(needs)
  requireActive(needs, caller)
  const except = otherSessions(needs, identity, session_id)
  const waiting = (await store.look(identity, input.limit, except)).map(present)
  const signals = withinBudget(waiting, bytesMax(input))
  return { signals, remaining: store.pendingCount(identity, except) - signals.length, drain_id: null }
}

function lost({ identity }: Caller, session_id: SessionId): TurnbellError {
  return new TurnbellError('binding_stale', {
    detail: `The session ${session_id} of ${identity} was lost while it drained; its signals wait again.`,
  })
}

/** Sessions of the persona that are there and not this one: what is addressed to them stays theirs. */
export function otherSessions(needs: SignalParts, identity: Identity, own: SessionId | null): SessionId[] {
  return needs.sessions(identity).filter((session_id) => session_id !== own)
}

/** As the model reads it: defanged, without what only the hub needs. */
function present({ signal, deliveries }: Drained): DrainedSignal {
  return {
    signal_id: signal.signal_id,
    from: signal.from,
    origin: signal.origin,
    to: signal.to,
    intent: signal.intent,
    ...(signal.topic === undefined ? {} : { topic: defangText(signal.topic) }),
    payload: defang(signal.payload),
    priority: signal.priority,
    ...(signal.reply_to === undefined ? {} : { reply_to: signal.reply_to }),
    ...(signal.in_reply_to === undefined ? {} : { in_reply_to: signal.in_reply_to }),
    created_at: signal.created_at,
    deliveries,
  }
}

/** What the signals of one answer may take, as they are shown: what is made harmless grows by that. */
function bytesMax({ max_tokens }: DrainInput): number {
  if (max_tokens === undefined) return LIMITS.drain_bytes_max
  return Math.min(LIMITS.drain_bytes_max, max_tokens * BYTES_PER_TOKEN - ENVELOPE_BYTES)
}

/** At least one, as a drain hands out. */
function withinBudget(signals: DrainedSignal[], bytes_max: number): DrainedSignal[] {
  let left = bytes_max
  const fitting = signals.findIndex((signal) => {
    left -= shownBytes(signal)
    return left < 0
  })
  return fitting === -1 ? signals : signals.slice(0, Math.max(1, fitting))
}
