/** Checks the response to an operator who requests a doorbell. */
import type { DaemonStatus, NotifyResult, SurfaceReport } from '../../../src/contracts/control.ts'
import { Violation } from '../../support/violation.ts'
import type { Heard, Rung } from './heard.ts'
import type { SimDaemon } from '../world/sim-daemon.ts'
import { turnOf } from '../world/surface.ts'

/** Checks whether a doorbell follows, given the state when the request arrived. Throws a Violation. */
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
  // A doorbell of this session and turn is outstanding without effect, or lost.
  const rung = last !== null && last.drained !== 'since' && reported.some((one) => isSameTurn(last, one))
  const when =
    surface.turn === 'idle' && reported.every(({ delivery }) => delivery === 'push') ? undefined : 'mid_turn'
  // A doorbell that no surface has answered is outstanding, unless a drain has made it obsolete.
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
 * Returns whether a report may belong to the turn of a doorbell. A daemon cannot know which turn an outgoing doorbell
 * reaches, or the number of turns before a new shim or connection.
 */
function isSameTurn(bell: Rung, report: SurfaceReport): boolean {
  const stands = turnOf(report) <= bell.turn_max || bell.accepted === null
  return bell.session_id === report.session_id && stands
}
