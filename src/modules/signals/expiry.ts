/**
 * Signals that nobody drained in time: they become `expired`, and their sender and the persona in `reply_to` get a quiet
 * notice. The store keeps a notice and the expiry it is about together or not at all, so a crash neither loses nor
 * repeats one.
 */
import { groupBy, inParts } from './leases.ts'
import type { SignalNeeds } from './needs.ts'
import { announce } from './send.ts'
import { OPERATOR, SYSTEM_SENDER, type Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ExpiredSignal, Signal } from '../../contracts/signal.ts'
import { timestamp } from '../../ports/clock.ts'

export const EXPIRED_INTENT = 'expired'
const HINT =
  'Nobody drained it in time. Action `replay` of `signals` with its signal_id puts it back; `send` with a longer ttl_s gives it more time.'

/** Expires every overdue signal; a drain calls it before it takes. Takes effect at the call. */
export async function expireOverdue(needs: SignalNeeds): Promise<void> {
  const { store, clock, events } = needs
  const made: Signal[] = []
  const { expired, notices } = await store.expire(timestamp(clock), (signals) => {
    const some = noticesOf(needs, signals)
    made.push(...some)
    return some
  })
  for (const [to, signals] of groupBy(expired, (signal) => signal.to)) {
    const signal_ids = signals.map((signal) => signal.signal_id)
    const pending_count = store.pendingCount(to)
    for (const part of inParts(signal_ids)) events.expired({ to, signal_ids: part, pending_count })
  }
  for (const [place, { seq }] of notices.entries()) announce(needs, made[place] as Signal, seq)
}

/** As the recipient's next drain names it. */
export function toldAs({ signal_id, from, intent, expires_at }: Signal): ExpiredSignal {
  return { signal_id, from, intent, expired_at: expires_at }
}

/**
 * At most one notice for each persona and signal, one for all signals of a broadcast, and one for everything where a
 * persona would get more than `expiry_notices_max`. There is none about a notice.
 */
function noticesOf(needs: SignalNeeds, expired: readonly Signal[]): Signal[] {
  const concerned = expired
    .filter(({ origin }) => origin !== 'system')
    .flatMap((signal) => {
      const { from, reply_to = from, to } = signal
      const both = new Set([from, reply_to])
      both.delete(to)
      return [...both].map((identity) => ({ identity, signal }))
    })
  return [...groupBy(concerned, ({ identity }) => identity)].flatMap(([to, about]) => {
    const room = LIMITS.queue_depth_max - needs.store.pendingCount(to)
    const signals = about.map(({ signal }) => signal)
    const groups = [...groupBy(signals, ({ broadcast_id, signal_id }) => broadcast_id ?? signal_id).values()]
    const told = groups.length > LIMITS.expiry_notices_max ? [signals] : groups
    if (!isAddressee(needs, to) || told.length > room) return []
    return told.map((some) => notice(needs, to, some))
  })
}

function isAddressee({ personas }: SignalNeeds, identity: Identity): boolean {
  return identity === OPERATOR || personas.get(identity)?.state === 'active'
}

function notice(needs: SignalNeeds, to: Identity, expired: readonly Signal[]): Signal {
  const now = needs.clock.now()
  const ttl_s = to === OPERATOR ? LIMITS.ttl_s_max : LIMITS.ttl_s_default
  const [first] = expired as [Signal]
  return {
    signal_id: needs.ids.next(),
    to,
    from: SYSTEM_SENDER,
    origin: 'system',
    intent: EXPIRED_INTENT,
    payload: {
      signals: expired.slice(0, LIMITS.expired_named_max).map((signal) => ({
        signal_id: signal.signal_id,
        to: signal.to,
        intent: signal.intent,
        created_at: signal.created_at,
        expired_at: signal.expires_at,
      })),
      total: expired.length,
      hint: HINT,
    },
    priority: LIMITS.priority_min,
    in_reply_to: first.signal_id,
    created_at: timestamp({ now: () => now }),
    expires_at: new Date(now + ttl_s * 1000).toISOString(),
  }
}
