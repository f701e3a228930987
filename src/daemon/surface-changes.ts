/** What news of the surface, and its answers to bells, change in what the pacer knows. */
import type { Proof, SurfaceReport } from '../contracts/control.ts'
import { LIMITS } from '../contracts/limits.ts'
import {
  forgetBell,
  isSameSession,
  NO_RECORD,
  NO_SETBACKS,
  type Bell,
  type BellName,
  type History,
  type SurfaceView,
} from './history.ts'

/**
 * `active` tells that this report is one of the moments a backlog waits for; `seen` is a bell
 * that nobody had said before to be seen, and `was_refused` whether it had been said to have reached nobody.
 */
export function reported(
  history: History,
  { report, same_shim }: { report: SurfaceReport; same_shim: boolean },
  now: number,
): { history: History; active: boolean; seen: BellName | null; was_refused: boolean } {
  const before = history.surface
  // A hook that does not know its session speaks for the one whose hooks spoke before. A shim says what it has.
  const speaks_for = report.delivery === 'pull' && before.attached ? before.session_id : null
  const session_id = report.session_id ?? speaks_for
  const { last_session_id } = before
  const another = last_session_id !== null && session_id !== null && last_session_id !== session_id
  const returned = before.known && !before.attached
  // Another shim, or one that was restarted, counts its turns anew; its first word is a baseline, no boundary.
  const continues = before.attached && same_shim && !another && report.turn_seq >= before.turn_seq
  const turned =
    continues && (report.turn_seq > before.turn_seq || (before.turn === 'busy' && report.turn === 'idle'))
  const stands = continues && before.turn === 'idle' && report.turn_seq === before.turn_seq
  // To a daemon that has just started any session is one that was there before.
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
    idle_since: report.turn === 'idle' ? (stands ? before.idle_since : now) : null,
    unknown_since:
      report.turn === 'unknown' ? ((before.attached ? before.unknown_since : null) ?? now) : null,
    outstanding_doorbell_id: report.outstanding_doorbell_id ?? null,
    interrupted_since: interruptedSince(before, report, { continues, another }, now),
    window: report.window !== false,
    instance_id: report.instance_id ?? (speaks_for === null ? null : before.instance_id),
  }
  const { bell, former } = another ? bellOf(history, session_id) : history
  const rebased = continues || bell === null ? bell : rebase(bell, report, history, another)
  const { seen_doorbell_id: receipt, outstanding_doorbell_id: outstanding } = report
  const known = receipt === undefined || history.receipts.includes(receipt)
  const refused = known ? undefined : history.refused.find(({ doorbell_id }) => doorbell_id === receipt)
  const is_last = !known && rebased?.doorbell_id === receipt
  return {
    active,
    seen: is_last ? rebased : (refused ?? null),
    was_refused: refused !== undefined,
    history: {
      ...history,
      ...(another && bell !== null ? recordOf(history, last_session_id, session_id) : {}),
      surface,
      former,
      take: report.take === true,
      hold: active ? null : history.hold,
      bell: followed(is_last ? { ...rebased, seen: true, outcome: 'open' } : rebased, report, now),
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
    receipts: [...history.receipts, doorbell_id].slice(-LIMITS.bells_remembered_max),
    refused: history.refused.filter((bell) => bell.doorbell_id !== doorbell_id),
  }
}

/**
 * The record of unanswered bells when the surface is another session. A new agent did not ignore them,
 * and begins with none; one of those that did, or two that take turns, does not.
 *
 * Where nothing gives receipts the record stays: a command that fails gets a new session each time, and
 * must not be run in a circle.
 */
function recordOf(history: History, left: string, came: string): Partial<History> {
  if (!history.rules.receipts || history.sessions.includes(came)) return {}
  const known = history.sessions.filter((session) => session !== left)
  const sessions = [...known, left, came].slice(-LIMITS.bell_sessions_max)
  // Whatever waits has never rung for this one.
  return { ...NO_RECORD, sessions, fresh: true }
}

/** The bell that counts for a session that comes: its own, where it was rung before, else the last of any. */
function bellOf({ bell, former }: History, came: string): Pick<History, 'bell' | 'former'> {
  if (bell === null) return { bell, former }
  const others = former.filter(({ session_id }) => session_id !== came && session_id !== bell.session_id)
  return {
    bell: former.find(({ session_id }) => session_id === came) ?? bell,
    former: [...others, ...(bell.session_id === came ? [] : [bell])].slice(-LIMITS.bell_sessions_max),
  }
}

/**
 * Keeps the bell comparable after another surface came, or the same one came back and perhaps counts its turns anew.
 *
 * Another session has not been rung, so where it stands counts as past the bell's turn. In the same session a turn that
 * runs now may be the one the bell began, and one in which the bell was seen is that one. Else a surface tells nothing
 * of what became of the bell, unless its counter stands where it stood: that of a new shim may begin anywhere. So the
 * bell is taken as not seen and can be found lost.
 */
function rebase(bell: Bell, report: SurfaceReport, { surface }: History, another: boolean): Bell {
  const past = { ...bell, turn_seq: report.turn_seq - 1 }
  if (isOfAnother(bell, report)) return past
  // Who asks for a bell stands at the end of a turn.
  const was_seen = bell.seen || report.seen_doorbell_id === bell.doorbell_id
  if (report.turn === 'busy' || report.take === true || was_seen) return past
  const stands_where_it_stood = !another && report.turn_seq === surface.turn_seq
  if (stands_where_it_stood && report.turn_seq > bell.turn_seq) return bell
  return { ...bell, turn_seq: report.turn_seq }
}

function isOfAnother({ session_id: whose }: Bell, { session_id }: SurfaceReport): boolean {
  return !isSameSession(whose, session_id)
}

/** Notes when the first turn after the bell was heard of, and when it was over. */
function followed(bell: Bell | null, { turn_seq, turn, take }: SurfaceReport, now: number): Bell | null {
  if (bell === null || turn_seq <= bell.turn_seq) return bell
  const is_over = turn === 'idle' || take === true
  return { ...bell, began_at: bell.began_at ?? now, ended_at: bell.ended_at ?? (is_over ? now : null) }
}

/** A shim that took the place of another may not know of the interrupt; a turn that began since ends it for any. */
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
 * What the surface answered to the question whether it still holds the last bell. Its status was taken in as a report
 * before; `holds` is null if it gave no answer, which changes nothing.
 */
export function probed(history: History, probe_id: string, holds: boolean | null, now: number): History {
  if (history.probe_id !== probe_id) return history
  const after = { ...history, probe_id: null }
  return holds === false ? { ...after, unseen: null, held_at: null } : { ...after, held_at: now }
}

export function surfaceLost(history: History): History {
  const surface: SurfaceView = {
    ...history.surface,
    ...{ attached: false, turn: 'unknown', idle_since: null, unknown_since: null },
    ...{ outstanding_doorbell_id: null, window: true },
  }
  return { ...history, surface, take: false, probe_id: null, held_at: null }
}

/**
 * What a surface answered to a bell, the last one or one before. `taken` says that it was rung: once the agent has seen
 * it, whoever could not say in time that it was taken is wrong.
 */
export function bellAnswered(
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
  // An attempt that broke may have reached the client all the same.
  const knows = was_seen || seen || proof === 'deferred' || proof === 'unavailable'
  const isDecided = knows && history.unseen?.doorbell_id === doorbell_id
  const answered = <T extends Bell | null>(bell: T): T =>
    bell?.doorbell_id === doorbell_id ? { ...bell, outcome, seen: bell.seen || seen } : bell
  const after: History = {
    ...history,
    ...{ bell: answered(history.bell), former: history.former.map(answered) },
    ...(seen && { ...withReceipt(history, doorbell_id), last_seen_at: now }),
    ...(!taken && { refused: [...history.refused, name].slice(-LIMITS.bells_remembered_max) }),
    unseen: isDecided ? null : history.unseen,
  }
  // An answer to an older bell says nothing about the last one, and one that a drain has answered was not lost.
  const last_proof = was_seen ? 'confirmed' : proof
  const is_last = history.last_doorbell_id === doorbell_id
  const answers = history.bell?.doorbell_id === doorbell_id
  return {
    history: { ...after, ...(is_last && { last_proof }), ...(answers && seen && { lost_rings: 0 }) },
    taken,
    seen,
  }
}

/** The surface was started anew by hand: neither it nor its agent has a past. */
export function resumed(history: History): History {
  return {
    ...surfaceLost(forgetBell(history)),
    setbacks: NO_SETBACKS,
    unseen: null,
    last_doorbell_id: null,
    last_proof: null,
  }
}
