/** How reports and other responses of the surface change the history. */
import type { Proof, SurfaceReport } from '../contracts/control.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import {
  forgetBell,
  isSameSession,
  EMPTY_RECORD,
  NO_SETBACKS,
  type Bell,
  type BellName,
  type History,
  type SurfaceView,
} from './history.ts'

/**
 * Applies a surface report. `active`: the report is activity that releases a held backlog. `seen`: a doorbell
 * whose first receipt this is. `was_refused`: the surface had reported that doorbell as not delivered.
 */
export function applyReport(
  history: History,
  { report, same_shim }: { report: SurfaceReport; same_shim: boolean },
  now: number,
): { history: History; active: boolean; seen: BellName | null; was_refused: boolean } {
  const before = history.surface
  // A hook without a session id belongs to the session of the previous hooks. A shim always reports its own.
  const inherited_session_id = report.delivery === 'pull' && before.attached ? before.session_id : null
  const session_id = report.session_id ?? inherited_session_id
  const { last_session_id } = before
  const another = last_session_id !== null && session_id !== null && last_session_id !== session_id
  const returned = before.known && !before.attached
  // Another or restarted shim restarts its turn counter; its first report is a baseline and not a boundary.
  const continues = before.attached && same_shim && !another && report.turn_seq >= before.turn_seq
  const turned =
    continues && (report.turn_seq > before.turn_seq || (before.turn === 'busy' && report.turn === 'idle'))
  const stayed_idle = continues && before.turn === 'idle' && report.turn_seq === before.turn_seq
  // For a daemon that has just started, any session may have been there before.
  const active = turned || (another && before.known) || returned || report.take === true
  const surface: SurfaceView = {
    attached: true,
    known: true,
    kind: report.surface,
    session_id,
    last_session_id: session_id ?? last_session_id,
    delivery: report.delivery,
    turn: report.turn,
    turn_seq: report.turn_seq,
    idle_since: report.turn === 'idle' ? (stayed_idle ? before.idle_since : now) : null,
    unknown_since:
      report.turn === 'unknown' ? ((before.attached ? before.unknown_since : null) ?? now) : null,
    outstanding_doorbell_id: report.outstanding_doorbell_id ?? null,
    interrupted_since: interruptedSince(before, report, { continues, another }, now),
    window: report.window !== false,
    via: report.via ?? null,
    presence: report.presence ?? null,
    instance_id: report.instance_id ?? (inherited_session_id === null ? null : before.instance_id),
  }
  const { bell, former } = another ? selectBellFor(history, session_id) : history
  const rebased_bell = continues || bell === null ? bell : rebase(bell, report, history, another)
  const { seen_doorbell_id: receipt, outstanding_doorbell_id: outstanding } = report
  const known = receipt === undefined || history.receipts.includes(receipt)
  const refused = known ? undefined : history.refused.find(({ doorbell_id }) => doorbell_id === receipt)
  const is_last = !known && rebased_bell?.doorbell_id === receipt
  return {
    active,
    seen: is_last ? rebased_bell : (refused ?? null),
    was_refused: refused !== undefined,
    history: {
      ...history,
      ...(another && bell !== null ? resetRecordForNewAgent(history, last_session_id, session_id) : {}),
      surface,
      former,
      take: report.take === true,
      hold: active ? null : history.hold,
      bell: withTurnTimes(
        is_last ? { ...rebased_bell, seen: true, outcome: 'open' } : rebased_bell,
        report,
        now,
      ),
      unseen: receipt === history.unseen?.doorbell_id ? null : history.unseen,
      probe_id: same_shim ? history.probe_id : null,
      held_at: outstanding === undefined ? null : now,
      ...(is_last && { lost_rings: 0 }),
      ...(!known && receipt === history.last_doorbell_id && { last_proof: 'confirmed' as const }),
      ...(!known && { ...withReceipt(history, receipt), last_seen_at: now }),
    },
  }
}

function withReceipt(history: History, doorbell_id: string): Pick<History, 'receipts' | 'refused'> {
  return {
    receipts: [...history.receipts, doorbell_id].slice(-LIMITS.stored_bells_max),
    refused: history.refused.filter((bell) => bell.doorbell_id !== doorbell_id),
  }
}

/**
 * Resets the record of unanswered doorbells if the new session has not been part of it: a new agent did not
 * ignore them. Sessions that ignored doorbells, or that alternate, keep the record.
 *
 * Without receipts the record is kept: a failing command gets a new session each time and must not run in a
 * loop.
 */
function resetRecordForNewAgent(history: History, left: string, came: string): Partial<History> {
  if (!history.rules.receipts || history.sessions.includes(came)) return {}
  const known = history.sessions.filter((session) => session !== left)
  const sessions = [...known, left, came].slice(-LIMITS.bell_sessions_max)
  // No pending signal has rung for this session.
  return { ...EMPTY_RECORD, sessions, fresh: true }
}

/**
 * Selects the doorbell that counts for the new session: its own if it was rung before, otherwise the last
 * one.
 */
function selectBellFor({ bell, former }: History, came: string): Pick<History, 'bell' | 'former'> {
  if (bell === null) return { bell, former }
  const others = former.filter(({ session_id }) => session_id !== came && session_id !== bell.session_id)
  return {
    bell: former.find(({ session_id }) => session_id === came) ?? bell,
    former: [...others, ...(bell.session_id === came ? [] : [bell])].slice(-LIMITS.bell_sessions_max),
  }
}

/**
 * Makes the doorbell's turn_seq comparable after another surface attached, or the same one returned and may
 * have restarted its counter.
 *
 * For another session, which was not rung, the current turn counts as past the doorbell's turn. In the same
 * session, a running turn may be the one that the doorbell started, and a turn in which it was seen is that
 * one. Otherwise the outcome is unknown unless the counter is unchanged, because a new shim may start
 * counting anywhere; the doorbell then counts as not seen and can be found lost.
 */
function rebase(bell: Bell, report: SurfaceReport, { surface }: History, another: boolean): Bell {
  const past = { ...bell, turn_seq: report.turn_seq - 1 }
  if (isOfAnother(bell, report)) return past
  // A report that takes a doorbell is at the end of a turn.
  const is_seen = bell.seen || report.seen_doorbell_id === bell.doorbell_id
  if (report.turn === 'busy' || report.take === true || is_seen) return past
  const counter_unchanged = !another && report.turn_seq === surface.turn_seq
  if (counter_unchanged && report.turn_seq > bell.turn_seq) return bell
  return { ...bell, turn_seq: report.turn_seq }
}

function isOfAnother({ session_id: whose }: Bell, { session_id }: SurfaceReport): boolean {
  return !isSameSession(whose, session_id)
}

/** Records when the first turn after the doorbell was first reported, and when it ended. */
function withTurnTimes(bell: Bell | null, { turn_seq, turn, take }: SurfaceReport, now: number): Bell | null {
  if (bell === null || turn_seq <= bell.turn_seq) return bell
  const is_over = turn === 'idle' || take === true
  return { ...bell, began_at: bell.began_at ?? now, ended_at: bell.ended_at ?? (is_over ? now : null) }
}

/**
 * A shim that replaced another may not know about the interrupt; a turn that started later ends it in any
 * case.
 */
function interruptedSince(
  { interrupted_since: before, turn_seq }: SurfaceView,
  report: SurfaceReport,
  { continues, another }: { continues: boolean; another: boolean },
  now: number,
): number | null {
  if (report.interrupted === true) return before ?? now
  if (continues || another || report.turn === 'busy' || report.turn_seq < turn_seq) return null
  return before
}

/**
 * Applies the result of a probe for the last doorbell. The surface's status was applied as a report before;
 * `holds` is null if it did not respond, which changes nothing.
 */
export function applyProbe(history: History, probe_id: string, holds: boolean | null, now: number): History {
  if (history.probe_id !== probe_id) return history
  const after = { ...history, probe_id: null }
  return holds === false ? { ...after, unseen: null, held_at: null } : { ...after, held_at: now }
}

export function applySurfaceLost(history: History): History {
  const surface: SurfaceView = {
    ...history.surface,
    attached: false,
    turn: 'unknown',
    idle_since: null,
    unknown_since: null,
    outstanding_doorbell_id: null,
    window: true,
    via: null,
    presence: null,
  }
  return { ...history, surface, take: false, probe_id: null, held_at: null }
}

/**
 * Applies the surface's response to a doorbell, the last one or an earlier one. `taken`: it was rung. A
 * receipt that arrived before overrides a response that reports a failure.
 */
export function applyBellAnswer(
  history: History,
  name: BellName,
  accepted: boolean,
  proof: Proof,
  now: number,
): { history: History; taken: boolean; seen: boolean } {
  const { doorbell_id } = name
  const was_seen = history.receipts.includes(doorbell_id)
  const taken = accepted || was_seen
  const seen = accepted && proof === 'confirmed' && !was_seen
  const outcome = taken ? 'open' : proof === 'deferred' ? 'held' : 'failed'
  // A failed attempt may still have reached the client.
  const knows = was_seen || seen || proof === 'deferred' || proof === 'unavailable'
  const isDecided = knows && history.unseen?.doorbell_id === doorbell_id
  const answered = <T extends Bell | null>(bell: T): T =>
    bell?.doorbell_id === doorbell_id ? { ...bell, outcome, seen: bell.seen || seen } : bell
  const after: History = {
    ...history,
    bell: answered(history.bell),
    former: history.former.map(answered),
    ...(seen && { ...withReceipt(history, doorbell_id), last_seen_at: now }),
    ...(!taken && { refused: [...history.refused, name].slice(-LIMITS.stored_bells_max) }),
    unseen: isDecided ? null : history.unseen,
  }
  // A response to an older doorbell does not change the last proof, and a doorbell that was seen was not
  // lost.
  const last_proof = was_seen ? 'confirmed' : proof
  const is_last = history.last_doorbell_id === doorbell_id
  const answers = history.bell?.doorbell_id === doorbell_id
  return {
    history: { ...after, ...(is_last && { last_proof }), ...(answers && seen && { lost_rings: 0 }) },
    taken,
    seen,
  }
}

/** Applies a restart of the surface by hand: earlier doorbells no longer count. */
export function applyResume(history: History): History {
  return {
    ...applySurfaceLost(forgetBell(history)),
    setbacks: NO_SETBACKS,
    unseen: null,
    last_doorbell_id: null,
    last_proof: null,
  }
}
