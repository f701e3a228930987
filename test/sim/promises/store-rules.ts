/** Checks the contents of a hub's store, after each start and when the system is at rest. */
import type { SignalView } from '../../../src/contracts/signal.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { Violation } from '../../support/violation.ts'
import { checkNotices } from './notices.ts'
import { EVERYBODY, HERALD, type Known, type Ledger, type Wish } from './ledger.ts'
import { SIM_RETENTION, type SimHub } from '../world/sim-hub.ts'

/** After each start all active signals are checked, and one part in this number of the finished ones. */
const LOOKS_AT_WHAT_IS_OVER = 20

/** Maximum delay of a report: a suspended machine, a stopped hub and a sync may all precede it. */
const TOLD_LATE_MS = 90 * 60_000

/** Returns the personas that existed during the whole period. */
export type WhoWasThere = (from: number, until: number) => string[]

export interface KeptOptions {
  /** Highest position in any receipt. */
  last_seq: number
  of_what_is_over: 'some' | 'all'
  /** Number of this start; each start checks another part of the finished signals. */
  start: number
  checkView: (view: SignalView) => Promise<void>
}

/** Throws if two leases share a signal. */
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

/** Checks, after a hub has started, that every accepted signal is present and no finished one has returned. */
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
    // An expired lease may still be confirmed until it is forgotten.
    const confirmed_late = known.state === 'expired' && view.status === 'acked'
    if (known.unsure && (known.final_at === null || confirmed_late)) learn(ledger, known, view)
    // The response may be older than reports that arrived during the query.
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

/** Checks a signal that the store no longer contains. */
function checkForgotten(ledger: Ledger, known: Known): void {
  const { state, final_at, told_at, wish, unsure } = known
  // Halved, because a hub's clock may have been set.
  const after_ms = SIM_RETENTION.finished_retention_ms / 2
  const life_ms = (wish?.ttl_s ?? 0) * 1000
  // It may have become final before the clock was set, although the report came later.
  const since = Math.max(
    wish?.at ?? told_at,
    unsure || final_at === null ? -Infinity : final_at - TOLD_LATE_MS,
  )
  const error_ms = ledger.wall.errorSince(since)
  const slept_ms = final_at === null ? 0 : ledger.wall.sleptBetween(final_at - TOLD_LATE_MS, final_at)
  if (final_at !== null && ledger.now() - final_at + slept_ms + error_ms > after_ms) return
  // A signal is expired from its deadline on, even if a stopped hub reports that late. Without a receipt its lifetime
  // is unknown.
  const over_ms = wish === null ? Infinity : ledger.passedAtMost(wish.at)
  if (state === 'expired' && over_ms > life_ms + after_ms) return
  // A signal that was pending for a whole life may have expired and been forgotten without a report.
  if (unsure && ledger.passedAtMost(told_at) > life_ms + after_ms) return
  throw new Violation('what has a receipt is kept', `${JSON.stringify(known)} at ${ledger.now()}`)
}

/** Updates the known state: the previous hub performed more than it reported. */
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

/** Checks that either all receivers of a broadcast have a signal, or none. */
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
    // Old signals may be forgotten for one receiver and not yet for another.
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

/** Checks, when all faults have ended and the system is at rest, that no signal for an agent still waits. */
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
    // The operator has no agent that drains the signals sent to it.
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
