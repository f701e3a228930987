/**
 * The rules of doorbells as a surface observes them: none during a turn, and one per turn. Facts that a daemon cannot
 * know, because it was killed or stopped or has a new connection, are exempt.
 */
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { Violation } from '../support/violation.ts'

/** Names of the promises. */
const [IN_A_TURN, ONE_A_TURN] = ['no bell in the middle of a turn', 'one bell a turn']
export const FALSE_BELL = 'no bell with nothing pending'
export const TWICE_IN_A_TURN: readonly string[] = [IN_A_TURN, ONE_A_TURN]

/**
 * Minimum time between a doorbell without a trace and the next one. Half of bell_receipt_ms, because the machine may be
 * busy.
 */
const APART_MS = LIMITS.bell_receipt_ms / 2

export class BellRules {
  /** Whether the daemon has confirmed the report of this turn. */
  private busy_told = false
  private last: { at: number; turn_seq: number; bell: Doorbell; reached: boolean } | null = null
  private readonly name: string
  private readonly onBroken: (violation: Violation) => void

  constructor(name: string, onBroken: (violation: Violation) => void) {
    this.name = name
    this.onBroken = onBroken
  }

  /** Resets the state after a new connection, or after the daemon was stopped. */
  forget(): void {
    this.busy_told = false
    this.last = null
  }

  busyAnswered(): void {
    this.busy_told = true
  }

  idleTold(): void {
    this.busy_told = false
  }

  /** Records a drain, which settles outstanding doorbells. */
  drains(): void {
    this.last = null
  }

  rung(bell: Doorbell, turn_seq: number, taken: boolean): void {
    const now = performance.now()
    if (this.busy_told && !taken) this.onBroken(new Violation(IN_A_TURN, `${this.name}: ${bell.text}`))
    if (bell.pending_count < 1) this.onBroken(new Violation(FALSE_BELL, `${this.name}: ${bell.text}`))
    const { last } = this
    if (last !== null && last.reached && last.turn_seq === turn_seq && now - last.at < APART_MS)
      this.onBroken(
        new Violation(
          ONE_A_TURN,
          `${this.name}: ${last.bell.doorbell_id}, and ${Math.round(now - last.at)} ms later ${bell.doorbell_id}`,
        ),
      )
    this.last = { at: now, turn_seq, bell, reached: true }
  }

  /** Records that the surface rejected the doorbell, which then does not count. */
  notTaken(bell: Doorbell): void {
    if (this.last?.bell === bell) this.last.reached = false
  }
}
