/**
 * Expires signals that were not drained in time, and sends their sender and the persona in `reply_to` a notice of the
 * lowest priority. The store commits an expiry and its notices together, so a crash neither loses nor repeats a notice.
 */
import { chunkIds } from './lease-events.ts'
import { announce } from './send.ts'
import type { SignalDeps } from './types.ts'
import { OPERATOR, SYSTEM_SENDER, type Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { ExpiredSignal, Signal } from '../../contracts/signal.ts'
import { timestamp } from '../../ports/clock.ts'
import { groupBy } from '../lib/group-by.ts'

export const EXPIRED_INTENT = 'expired'
const HINT =
  'Call `signals` with action `replay` and the signal_id to make it pending again, or send it with a longer ttl_s.'

/** Expires every overdue signal. Takes effect at the call; a drain calls it first. */
export async function expireOverdue(deps: SignalDeps): Promise<void> {
  const { store, clock, events } = deps
  const sent: Signal[] = []
  const { expired, notices } = await store.expire(timestamp(clock), (signals) => {
    const made = expiryNotices(deps, signals)
    sent.push(...made)
    return made
  })
  for (const [to, signals] of groupBy(expired, (signal) => signal.to)) {
    const signal_ids = signals.map((signal) => signal.signal_id)
    const pending_count = store.pendingCount(to)
    for (const part of chunkIds(signal_ids)) events.expired({ to, signal_ids: part, pending_count })
  }
  for (const [index, { seq }] of notices.entries()) announce(deps, sent[index] as Signal, seq)
}

/** The signal as the recipient's next drain lists it. */
export function toExpiredSignal({ signal_id, from, intent, expires_at }: Signal): ExpiredSignal {
  return { signal_id, from, intent, expired_at: expires_at }
}

/**
 * Returns one notice for each persona and signal, one for all signals of a broadcast, and a single one where a persona
 * would get more than `expiry_notices_max`. Expired notices cause no further notice.
 */
function expiryNotices(deps: SignalDeps, expired: readonly Signal[]): Signal[] {
  const concerned = expired
    .filter(({ origin }) => origin !== 'system')
    .flatMap((signal) => {
      const { from, reply_to = from, to } = signal
      const identities = new Set([from, reply_to])
      identities.delete(to)
      return [...identities].map((identity) => ({ identity, signal }))
    })
  return [...groupBy(concerned, ({ identity }) => identity)].flatMap(([to, entries]) => {
    const room = LIMITS.queue_depth_max - deps.store.pendingCount(to)
    const signals = entries.map(({ signal }) => signal)
    const groups = [...groupBy(signals, ({ broadcast_id, signal_id }) => broadcast_id ?? signal_id).values()]
    const per_notice = groups.length > LIMITS.expiry_notices_max ? [signals] : groups
    if (!isAddressee(deps, to) || per_notice.length > room) return []
    return per_notice.map((group) => createNotice(deps, to, group))
  })
}

function isAddressee({ personas }: SignalDeps, identity: Identity): boolean {
  return identity === OPERATOR || personas.get(identity)?.state === 'active'
}

function createNotice(deps: SignalDeps, to: Identity, expired: readonly Signal[]): Signal {
  const now = deps.clock.now()
  const ttl_s = to === OPERATOR ? LIMITS.ttl_s_max : LIMITS.ttl_s_default
  const [first] = expired as [Signal]
  return {
    signal_id: deps.ids.next(),
    to,
    from: SYSTEM_SENDER,
    origin: 'system',
    intent: EXPIRED_INTENT,
    payload: {
      signals: expired.slice(0, LIMITS.expired_per_notice_max).map((signal) => ({
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
