/** What the store of a hub must hold: once it has come up, and once everything has come to rest. */
import type { SignalView } from '../../src/contracts/signal.ts'
import type { SignalStore } from '../../src/ports/signal-store.ts'
import { Violation } from '../support/violation.ts'
import { checkNotices } from './notices.ts'
import { EVERYBODY, HERALD, type Known, type Ledger, type Wish } from './ledger.ts'
import { SIM_RETENTION, type SimHub } from './sim-hub.ts'

/** A hub that comes up is asked for all that goes on, and for so large a part of what is over. */
const LOOKS_AT_WHAT_IS_OVER = 20

/** Longer than a machine sleeps, a hub stands still and a sync takes: all of that may come before the word. */
const TOLD_LATE_MS = 90 * 60_000

/** The personas that were there all the while between these moments. */
export type WhoWasThere = (from: number, until: number) => string[]

export interface KeptOptions {
  /** The highest position that a receipt named. */
  last_seq: number
  of_what_is_over: 'some' | 'all'
  /** Which start this is; each looks at another part of what is over. */
  start: number
  checkView: (view: SignalView) => Promise<void>
}

/** No two leases share a signal. */
export function checkLeases({ store }: SimHub): void {
  const seen = new Map<string, string>()
  for (const { drain_id, signal_ids } of store.leases()) {
    for (const signal_id of signal_ids) {
      const other = seen.get(signal_id)
      if (other !== undefined)
        throw new Violation('a signal is in one live lease', `${signal_id}: ${other} and ${drain_id}`)
      seen.set(signal_id, drain_id)
    }
  }
}

/** A hub has come up: whatever was promised is there, and nothing came back that was over. */
export async function checkKept(
  ledger: Ledger,
  { store }: SimHub,
  whoWasThere: WhoWasThere,
  { last_seq, of_what_is_over, start, checkView }: KeptOptions,
): Promise<void> {
  await checkBroadcasts(ledger, store, whoWasThere)
  await checkNotices(ledger, store, (identity, since) => {
    return identity === 'operator' || whoWasThere(since, ledger.now()).includes(identity)
  })
  const health = store.health()
  if (health.last_seq < last_seq)
    throw new Violation('what has a receipt is kept', `seq ${last_seq}; the store knows ${health.last_seq}`)
  let nth = start
  for (const known of ledger.signals.values()) {
    nth += 1
    if (known.release_due && !known.unsure)
      throw new Violation('only what waits is taken back', known.signal_id)
    const looks = of_what_is_over === 'all' || nth % LOOKS_AT_WHAT_IS_OVER === 0
    if (known.found_over && !looks) continue
    const { state, since } = known
    const view = await store.read(known.signal_id)
    if (view === null) {
      checkForgotten(ledger, known)
      continue
    }
    if ((known.seq !== null && view.seq !== known.seq) || view.to !== known.to)
      throw new Violation(
        'a signal stays what it was',
        `${known.signal_id}: seq ${known.seq ?? 0}, now ${view.seq}`,
      )
    await checkView(view)
    const n = (view.payload as { n?: number } | null)?.n
    if (known.wish !== null && n !== known.wish.n)
      throw new Violation(
        'a signal stays what it was',
        `${known.signal_id}: ${known.wish.n}, now ${n ?? 'nothing'}`,
      )
    // A lease that has come to its end may be confirmed all the same, until it is known to nobody.
    const confirmed_late = known.state === 'expired' && view.status === 'acked'
    if (known.unsure && (known.final_at === null || confirmed_late)) learn(ledger, known, view)
    // What was looked at may be older than what was told while it was asked for.
    if (known.replays_open > 0 || known.state !== state || known.since !== since) continue
    if (known.state === 'final' && ['pending', 'expired', 'cancelled', 'dead'].includes(view.status))
      throw new Violation('what is final stays so', `${known.signal_id} is ${view.status}`)
    if (known.state === 'expired' && view.status !== 'expired' && view.status !== 'completed')
      throw new Violation('what is over stays so', `${known.signal_id} is ${view.status}`)
    if (known.state === 'cancelled' && view.status !== 'cancelled')
      throw new Violation('what was taken back stays so', `${known.signal_id} is ${view.status}`)
    known.found_over = known.state === 'final' || known.state === 'expired' || known.state === 'cancelled'
  }
}

/** The store does not know it any more. */
function checkForgotten(ledger: Ledger, known: Known): void {
  const { state, final_at, told_at, wish, unsure } = known
  // A hub's clock may have been set.
  const after_ms = SIM_RETENTION.finished_retention_ms / 2
  const life_ms = (wish?.ttl_s ?? 0) * 1000
  // It may have been final before the clock was set, though nobody could be told until later.
  const since = Math.max(
    wish?.at ?? told_at,
    unsure || final_at === null ? -Infinity : final_at - TOLD_LATE_MS,
  )
  const error_ms = ledger.wall.errorSince(since)
  const slept_ms = final_at === null ? 0 : ledger.wall.sleptBetween(final_at - TOLD_LATE_MS, final_at)
  if (final_at !== null && ledger.now() - final_at + slept_ms + error_ms > after_ms) return
  // One that expires is over from then on, however late a hub that stood still comes to say so. How long one of which
  // nobody was told when it came had to live, nobody knows.
  const over_ms = wish === null ? Infinity : ledger.passedAtMost(wish.at)
  if (state === 'expired' && over_ms > life_ms + after_ms) return
  // What was pending for a whole life may have expired, and been forgotten, without anybody being told.
  if (unsure && ledger.passedAtMost(told_at) > life_ms + after_ms) return
  throw new Violation('what has a receipt is kept', `${JSON.stringify(known)} at ${ledger.now()}`)
}

/** The former hub did more than it came to say. */
function learn(
  ledger: Ledger,
  { signal_id, drain_id, arrived }: Known,
  { status, stages }: SignalView,
): void {
  if (status === 'expired' || status === 'cancelled' || status === 'dead')
    ledger.change(signal_id, { state: status, drain_id: null })
  if (status === 'completed') ledger.change(signal_id, { state: 'final', drain_id: null })
  if (status === 'acked' && stages.confirmed_at !== null) {
    if (!arrived)
      throw new Violation('nothing is marked read before the agent has it', `${signal_id} under ${drain_id}`)
    ledger.change(signal_id, { state: 'final', drain_id: null })
  }
}

/** Of one broadcast everybody has a signal, or nobody. */
async function checkBroadcasts(ledger: Ledger, store: SignalStore, whoWasThere: WhoWasThere): Promise<void> {
  const isRecent = ({ at }: Wish) => ledger.passedAtMost(at) <= SIM_RETENTION.idempotency_window_ms / 2
  if (!ledger.wishes.some((wish) => wish.to === EVERYBODY && isRecent(wish))) return
  const reached = new Map<number, { to: Set<string>; by: number }>()
  const { signals: all } = await store.query({ from: HERALD, limit: Number.MAX_SAFE_INTEGER })
  for (const { payload, signal_id, to } of all) {
    const n = (payload as { n?: number } | null)?.n
    if (n === undefined || ledger.wishes[n]?.to !== EVERYBODY) continue
    const known = reached.get(n) ?? { to: new Set(), by: ledger.now() }
    const told_at = ledger.signals.get(signal_id)?.told_at ?? Infinity
    reached.set(n, { to: known.to.add(to), by: Math.min(known.by, told_at) })
  }
  for (const [n, { to, by }] of reached) {
    // What was told long ago may be forgotten for one and not for another.
    const wish = ledger.wishes[n] as Wish
    if (!isRecent(wish)) continue
    const left_out = whoWasThere(wish.at, by).filter((identity) => !to.has(identity))
    if (left_out.length > 0)
      throw new Violation(
        'all of a broadcast or nothing',
        `${n} is at ${[...to].join(', ')} and not at ${left_out.join(', ')}`,
      )
  }
}

/** Everything has healed and come to rest: nothing waits that an agent should have. */
export async function checkDelivered(
  ledger: Ledger,
  { store }: SimHub,
  which: 'loud' | 'all',
): Promise<void> {
  for (const known of ledger.signals.values()) {
    const view = await store.read(known.signal_id)
    if (view === null) {
      checkForgotten(ledger, known)
      continue
    }
    // The person reads no mail here.
    const is_delivered = view.status !== 'pending' || view.to === 'operator'
    if (!is_delivered && (which === 'all' || view.priority > 0))
      throw new Violation(
        'everything arrives',
        `${JSON.stringify(known)} waits still, ${JSON.stringify(view)}`,
      )
    if (view.status === 'acked' && !known.arrived)
      throw new Violation('nothing is marked read before the agent has it', known.signal_id)
  }
}
