/** The rule of what a person is told who asks for a doorbell. */
import type { DaemonStatus, NotifyResult, SurfaceReport } from '../../src/contracts/control.ts'
import { Violation } from '../support/violation.ts'
import type { Heard, Rung } from './heard.ts'
import type { SimDaemon } from './sim-daemon.ts'
import { turnOf } from './surface.ts'

/** Whether one comes, held against what there was when the question came. Throws a violation. */
export function checkNotified(
  { host }: SimDaemon,
  heard: Heard,
  { accepted, reason }: NotifyResult,
  before: DaemonStatus,
): void {
  const { last = null, reports = [] } = heard.asking.shift() ?? {}
  if (!accepted) heard.asked_for = Math.max(0, heard.asked_for - 1)
  const { connected, surface, pending_count } = before
  const reported = reports.filter(({ session_id }) => session_id === surface.session_id)
  const refused =
    (!connected && 'not_connected') ||
    (pending_count === 0 && 'nothing_pending') ||
    (!surface.attached && 'surface_absent')
  // A bell of this session and turn that nothing has answered is out, or lost.
  const rung = last !== null && last.drained !== 'since' && reported.some((one) => isSameTurn(last, one))
  const when =
    surface.turn === 'idle' && reported.every(({ delivery }) => delivery === 'push') ? undefined : 'mid_turn'
  // What no surface has answered yet is out for sure, unless it means nothing any more.
  const unanswered = last !== null && last.accepted === null && last.drained === 'no'
  const leaving = unanswered && reported.some((one) => isOfTurn(last, one))
  const held = reported.some(({ outstanding_doorbell_id }) => outstanding_doorbell_id !== undefined)
  const expected = refused || (accepted ? when : (rung || held) && 'already_rung')
  const right = reason === expected && !(accepted && (refused !== false || leaving || held))
  if (!right)
    throw new Violation(
      'who asks for a bell is told the truth',
      `${host.name}: ${JSON.stringify({ accepted, reason })} of ${JSON.stringify(before)}, after ${JSON.stringify(last)}`,
    )
}

function isOfTurn(bell: Rung, report: SurfaceReport): boolean {
  return bell.session_id === report.session_id && bell.turn === turnOf(report)
}

/**
 * As far as a daemon can tell: which turn one meets that is just leaving nobody knows, nor how many turns there were
 * before a new shim, or a new connection of the same.
 */
function isSameTurn(bell: Rung, report: SurfaceReport): boolean {
  const stands = turnOf(report) <= bell.turn_max || bell.accepted === null
  return bell.session_id === report.session_id && stands
}
