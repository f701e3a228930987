/** Checks what one drain may return: the signals in order, none skipped, and each only to its receiver. */
import type { DrainResult } from '../../../src/contracts/signal.ts'
import { Violation } from '../../support/violation.ts'
import { CLOCK_SLACK_MS, type Known, type Ledger } from './ledger.ts'
import { agentRow } from './lease-rules.ts'
import type { SimHub } from '../world/sim-hub.ts'

type Signals = DrainResult['signals']

export interface DrainAsked {
  limit?: number
  confirm?: string
}

const JUST_JOINED_MS = 5 * 60_000
/** Longer than the slowest disk needs for two syncs. */
const ON_ITS_WAY_MS = 40_000

/** `began` is when the hub received the request. */
export function checkDrain(
  ledger: Ledger,
  hub: SimHub,
  { limit, confirm }: DrainAsked,
  drain: DrainResult,
  began: number,
): void {
  const { signals } = drain
  const leases = hub.store.leases()
  const confirmed = leases.find(({ drain_id }) => drain_id === confirm)
  // If a daemon reports on the session's surface, the end of the turn confirms the drain.
  if (confirmed && agentRow(hub, confirmed.identity, confirmed.session_id)?.facts === undefined)
    throw new Violation('what is confirmed is final', confirmed.drain_id)
  if (limit !== undefined && signals.length > limit)
    throw new Violation('a drain gives no more than was asked for', `${signals.length} of ${limit}`)
  checkOrder(ledger, signals)
  if (drain.drain_id === null) return
  checkLeftBehind(ledger, hub, drain, began)
  const lease = leases.find(({ drain_id }) => drain_id === drain.drain_id)
  for (const { signal_id } of signals) {
    const known = ledger.signals.get(signal_id)
    if (known !== undefined) checkInTime(ledger, known, began)
    if (known?.drain_id !== drain.drain_id && known?.state === 'leased')
      throw new Violation(
        'what is handed out is leased',
        `${signal_id} is under ${known.drain_id ?? 'nothing'}`,
      )
  }
  if (lease === undefined) return
  checkSession(ledger, hub, signals, { session_id: lease.session_id, began })
  const to = signals[0]?.to
  if (lease.identity !== to)
    throw new Violation('a queue is its persona’s', `${lease.identity} drained ${to ?? ''}`)
}

/**
 * The lifetime starts when the signal is created, which may be long after the wish if its machine was suspended. Only
 * the wish shows which clock was used; that clock may have been set before the receipt arrived.
 */
function checkInTime({ wall }: Ledger, { signal_id, wish, told_at, given_back }: Known, began: number): void {
  if (wish === null || given_back > 0) return
  if (began - told_at - wall.errorSince(wish.at) > wish.ttl_s * 1000 + CLOCK_SLACK_MS)
    throw new Violation('what is over is not handed out', signal_id)
}

function checkOrder(ledger: Ledger, signals: Signals): void {
  let last: { priority: number; seq: number | null } = { priority: Infinity, seq: null }
  for (const { signal_id, priority } of signals) {
    const seq = ledger.signals.get(signal_id)?.seq ?? null
    const older = seq !== null && last.seq !== null && seq < last.seq
    if (priority > last.priority || (priority === last.priority && older))
      throw new Violation(
        'highest priority first, then oldest',
        JSON.stringify(
          signals.map((one) => [one.signal_id, one.priority, ledger.signals.get(one.signal_id)?.seq ?? null]),
        ),
      )
    last = { priority, seq }
  }
}

/**
 * Throws if a drain skipped a signal that waited before the request and precedes the last returned one, or if signals
 * are missing although none remain.
 */
function checkLeftBehind(
  ledger: Ledger,
  hub: SimHub,
  { signals, remaining }: DrainResult,
  began: number,
): void {
  const last = signals.at(-1)
  const last_seq = ledger.signals.get(last?.signal_id ?? '')?.seq ?? null
  if (last === undefined || last_seq === null) return
  // The drain of another session may not have been reported yet.
  const taken = new Set(hub.store.leases().flatMap(({ signal_ids }) => signal_ids))
  for (const known of ledger.queue(last.to)) {
    const { signal_id, seq, wish, unsure, since, replays_open } = known
    if (taken.has(signal_id) || unsure || replays_open > 0) continue
    if (seq === null || wish === null || wish.to_session !== null || since >= began) continue
    if (ledger.mayBeOver(wish)) continue
    const before = wish.priority > last.priority || (wish.priority === last.priority && seq < last_seq)
    if (!before && remaining > 0) continue
    // The signal may be on its way back from a lost session. Its release is reported only after it is on disk.
    known.passed_over_at ??= ledger.now()
    if (ledger.now() - known.passed_over_at > ON_ITS_WAY_MS)
      throw new Violation('the oldest is not left behind', `${signal_id} for ${last.signal_id}`)
  }
}

/** Throws if a signal for one session was returned to another while its own session was connected. */
function checkSession(
  ledger: Ledger,
  hub: SimHub,
  signals: Signals,
  { session_id, began }: { session_id: string; began: number },
): void {
  for (const { signal_id, to } of signals) {
    const wanted = ledger.signals.get(signal_id)?.wish?.to_session ?? session_id
    if (wanted === session_id) continue
    const rows = hub.hub.personas.list().find(({ identity }) => identity === to)?.registrations ?? []
    const row = rows.find((one) => one.kind === 'agent' && one.connected && one.session_id === wanted)
    // A session that joined during the drain joined too late for it.
    const joining_ms = JUST_JOINED_MS + ledger.now() - began
    if (row === undefined || ledger.wall.errorSince(ledger.now() - joining_ms) > 0) continue
    if (hub.host.clock.now() - Date.parse(row.joined_at) > joining_ms)
      throw new Violation('what is for a session is kept for it', `${signal_id}: ${wanted}, ${session_id}`)
  }
}

/**
 * The hub reports drains in commit order. A waiting signal that precedes them was overtaken, unless the hub now reports
 * that it had gone to a lost session.
 */
export function noteOvertaken(ledger: Ledger, signal_ids: readonly string[]): void {
  const handed = signal_ids.map((id) => ledger.signals.get(id)).filter((one) => one !== undefined)
  const last = handed.at(-1)
  if (last === undefined || last.seq === null || last.wish === null) return
  for (const known of ledger.queue(last.to)) {
    const { signal_id, seq, wish, unsure, since, replays_open } = known
    if (unsure || replays_open > 0 || seq === null || wish === null) continue
    // It was released in the same commit, possibly after the drain.
    if (since === ledger.now()) continue
    if (wish.to_session !== null || wish.from !== last.wish.from || wish.priority !== last.wish.priority)
      continue
    if (ledger.mayBeOver(wish) || signal_ids.includes(signal_id)) continue
    if (seq < last.seq) known.overtaken_by ??= last.signal_id
  }
}

/** If one commit contains the drains of two sessions, the later one may be reported first. */
export function checkOvertaken(ledger: Ledger, { signal_id, overtaken_by }: Known): void {
  if (overtaken_by === null || ledger.signals.get(overtaken_by)?.since === ledger.now()) return
  throw new Violation('one sender’s signals stay in order', `${overtaken_by} before ${signal_id}`)
}

/**
 * Throws unless `deliveries` equals the number of times the signal was handed out. A killed hub may have handed it out
 * once more without reporting it, even before it reported the signal itself.
 */
export function checkDeliveries({ kills_at }: Ledger, known: Known, deliveries: number): void {
  const { signal_id, leases_seen, leases_unseen, kills, kills_before, replays_open, replays_seen } = known
  if (replays_open > 0 || replays_seen > 0) return
  const { wish, told_at } = known
  const sent_at = wish?.at ?? 0
  const untold = kills_at.filter((at) => at >= sent_at && at <= told_at).length
  const most = leases_seen + leases_unseen + kills - kills_before + untold
  if (deliveries < leases_seen || deliveries > most)
    throw new Violation(
      'deliveries count the drains',
      `${signal_id}: ${deliveries}, seen ${leases_seen} to ${most}`,
    )
}
