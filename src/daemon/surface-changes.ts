/** What news of the surface, and its answers to bells, change in what the pacer knows. */
import type { Proof, SurfaceReport } from '../contracts/control.ts'
import { LIMITS } from '../contracts/limits.ts'
import { forgetBell, NO_RECORD, NO_SETBACKS, type Bell, type History, type SurfaceView } from './history.ts'

/** `active` tells that this report is one of the moments a backlog waits for. */
export function reported(
  history: History,
  report: SurfaceReport,
  now: number,
): { history: History; active: boolean; seen: boolean } {
  const before = history.surface
  // A hook that does not know its session speaks for the one whose hooks spoke before. A shim says what it has.
  const speaks_for = report.delivery === 'pull' && before.attached ? before.session_id : null
  const session_id = report.session_id ?? speaks_for
  const { last_session_id } = before
  const another = last_session_id !== null && session_id !== null && last_session_id !== session_id
  const returned = before.known && !before.attached
  // A shim that was restarted counts its turns anew; its first word is a baseline, no boundary.
  const continues = before.attached && !another && report.turn_seq >= before.turn_seq
  const turned =
    continues && (report.turn_seq > before.turn_seq || (before.turn === 'busy' && report.turn === 'idle'))
  const stands = continues && before.turn === 'idle' && report.turn_seq === before.turn_seq
  const active = turned || another || returned || report.take === true
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
  }
  const bell = continues ? history.bell : rebase(history, report, another)
  const seen = bell !== null && !bell.seen && report.seen_doorbell_id === bell.doorbell_id
  return {
    active,
    seen,
    history: {
      ...history,
      ...(another && bell !== null ? recordOf(history, last_session_id, session_id) : {}),
      surface,
      take: report.take === true,
      hold: active ? null : history.hold,
      bell: seen ? { ...bell, seen: true, outcome: 'open' } : bell,
      ...(seen && { lost_rings: 0, last_proof: 'confirmed' as const }),
    },
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

/**
 * Keeps the bell comparable after another surface came, or the same one came back and perhaps counts its turns anew.
 *
 * Another session has not been rung, so where it stands counts as past the bell's turn; one that was rung, before
 * another came between, has to end the turn of its own bell. In the same session a turn that runs now may be the one
 * the bell began. An idle surface tells nothing of what became of the bell, unless its counter stands where it stood:
 * that of a new shim may begin anywhere. So the bell is taken as not seen and can be found lost.
 */
function rebase({ bell, rung_in, surface }: History, report: SurfaceReport, another: boolean): Bell | null {
  if (bell === null) return null
  const past = { ...bell, turn_seq: report.turn_seq - 1 }
  const rung = rung_in.findLast(({ session_id }) => session_id === report.session_id)
  if (another && (rung === undefined || rung.turn_seq < report.turn_seq)) return past
  if (report.turn === 'busy') return past
  const is_same_shim = !another && report.turn_seq === surface.turn_seq && report.turn_seq > bell.turn_seq
  return is_same_shim ? bell : { ...bell, turn_seq: report.turn_seq, seen: false }
}

export function surfaceLost(history: History): History {
  const surface: SurfaceView = {
    ...history.surface,
    ...{ attached: false, turn: 'unknown', idle_since: null, unknown_since: null },
  }
  return { ...history, surface, take: false }
}

/** What the surface answered to the bell. An answer to an older bell says nothing about this one. */
export function bellAnswered(
  history: History,
  doorbell_id: string,
  accepted: boolean,
  proof: Proof,
): { history: History; seen: boolean } {
  const { bell } = history
  if (bell === null || bell.doorbell_id !== doorbell_id) return { history, seen: false }
  // Once the agent has seen it, whoever could not say in time that it was taken is wrong.
  if (accepted || bell.seen) {
    const seen = proof === 'confirmed' && !bell.seen
    const known: Bell = { ...bell, outcome: 'open', seen: bell.seen || seen }
    const last_proof = known.seen ? 'confirmed' : proof
    return { history: { ...history, last_proof, bell: known, ...(seen && { lost_rings: 0 }) }, seen }
  }
  const outcome = proof === 'deferred' ? 'held' : 'failed'
  return { history: { ...history, last_proof: proof, bell: { ...bell, outcome } }, seen: false }
}

/** The surface was started anew by hand: neither it nor its agent has a past. */
export function resumed(history: History): History {
  return { ...surfaceLost(forgetBell(history)), setbacks: NO_SETBACKS, last_proof: null }
}
