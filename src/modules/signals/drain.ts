/** An agent takes its pending signals. The drain is the acknowledgment, tentative under a lease. */
import { ensureOwnPersona, requireAgent, sessionOf } from './callers.ts'
import { defang, defangText } from './defang.ts'
import type { Leases } from './leases.ts'
import { expireOverdue } from './sweep.ts'
import type { SignalParts } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { DrainedSignal, DrainInput, DrainResult } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import type { Drained } from '../../ports/signal-store.ts'

/** What a model's tokenizer makes of JSON, roughly; `max_tokens` is a wish, not a bound of the protocol. */
const BYTES_PER_TOKEN = 4
const ENVELOPE_BYTES = 60

export async function drain(
  needs: SignalParts,
  leases: Leases,
  caller: Caller,
  input: DrainInput,
  answered: Promise<'written' | 'broken'>,
): Promise<DrainResult> {
  requireAgent(caller)
  const joining = ensureOwnPersona(needs, caller)
  if (joining !== null) await joining
  const { store } = needs
  const { identity } = caller
  const session_id = sessionOf(caller)
  leases.seen(identity, session_id)
  const except = otherSessions(needs, identity, session_id)

  if (input.confirm !== undefined) await leases.confirm(identity, input.confirm)
  // Takes effect at the call; awaited with the drain, so that a session lost meanwhile finds its lease.
  const expired = expireOverdue(needs)
  expired.catch(() => {})
  if (input.peek) {
    await expired
    const signals = withinBudget(
      (await store.look(identity, input.limit, except)).map(present),
      input.max_tokens,
    )
    return { signals, remaining: store.pendingCount(identity, except) - signals.length, drain_id: null }
  }

  const drain_id = needs.ids.next()
  // Opened before anything is waited for, so that a loss of the session meanwhile finds it.
  const lease = leases.open(drain_id, identity, session_id)
  let drained: Drained[]
  try {
    const limit = await affordable(needs, identity, input, except)
    leases.followed(identity, session_id, answered)
    const taken = store.drain(identity, {
      drain_id,
      session_id,
      limit,
      now: timestamp(needs.clock),
      bytes_max: LIMITS.drain_bytes_max,
      except_sessions: except,
    })
    // The store keeps the order of calls and commits both together.
    ;[drained] = await Promise.all([taken, expired])
  } catch (error) {
    // Nothing was handed out. Where the store cannot even take it back, its next opening does.
    await leases.takeBack(lease).catch(() => undefined)
    throw error
  }

  if (!leases.stands(lease)) {
    await leases.takeBack(lease)
    throw new TurnbellError('binding_stale', {
      detail: `The session ${session_id} of ${identity} was lost while it drained; its signals wait again.`,
    })
  }
  const remaining = store.pendingCount(identity, except)
  if (drained.length === 0) {
    leases.forget(lease)
    return { signals: [], remaining, drain_id: null }
  }
  needs.events.drained({
    to: identity,
    signal_ids: drained.map(({ signal }) => signal.signal_id),
    session_id,
    drain_id,
    pending_count: store.pendingCount(identity),
  })
  leases.settle(lease, answered)
  return { signals: drained.map(present), remaining, drain_id }
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

/**
 * How many signals fit the wish; at least one. Looks first, because a lease should not be taken for what is not shown.
 */
async function affordable(
  needs: SignalParts,
  identity: Identity,
  input: DrainInput,
  except: SessionId[],
): Promise<number> {
  if (input.max_tokens === undefined) return input.limit
  const waiting = (await needs.store.look(identity, input.limit, except)).map(present)
  return Math.max(1, withinBudget(waiting, input.max_tokens).length)
}

function withinBudget(signals: DrainedSignal[], max_tokens: number | undefined): DrainedSignal[] {
  if (max_tokens === undefined) return signals
  let left = max_tokens * BYTES_PER_TOKEN - ENVELOPE_BYTES
  const fitting = signals.findIndex((signal) => {
    left -= Buffer.byteLength(JSON.stringify(signal)) + 1
    return left < 0
  })
  return fitting === -1 ? signals : signals.slice(0, Math.max(1, fitting))
}
