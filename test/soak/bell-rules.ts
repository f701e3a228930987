/**
 * The rules of doorbells as a surface sees them: none in the middle of a turn, one for a turn. What the daemon cannot
 * know, because it was killed or stood still meanwhile, or the connection is a new one, is not held against it.
 */
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { Violation } from '../support/violation.ts'

/** A bell without a trace may be followed by another after bell_receipt_ms; half of it allows for busy machines. */
const APART_MS = LIMITS.bell_receipt_ms / 2

export class BellRules {
  /** The daemon has answered that it knows of the turn. */
  private busy_told = false
  private last: { at: number; turn_seq: number; bell: Doorbell; reached: boolean } | null = null
  private readonly name: string
  private readonly onBroken: (violation: Violation) => void

  constructor(name: string, onBroken: (violation: Violation) => void) {
    this.name = name
    this.onBroken = onBroken
  }

  /** A new connection, or a daemon that stood still. */
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

  /** The session drains, which is what a bell is for. */
  drains(): void {
    this.last = null
  }

  rung(bell: Doorbell, turn_seq: number, taken: boolean): void {
    const now = performance.now()
    if (this.busy_told && !taken)
      this.onBroken(new Violation('no bell in the middle of a turn', `${this.name}: ${bell.text}`))
    if (bell.pending_count < 1)
      this.onBroken(new Violation('no bell with nothing pending', `${this.name}: ${bell.text}`))
    const { last } = this
    if (last !== null && last.reached && last.turn_seq === turn_seq && now - last.at < APART_MS)
      this.onBroken(
        new Violation(
          'one bell a turn',
          `${this.name}: ${last.bell.doorbell_id}, and ${Math.round(now - last.at)} ms later ${bell.doorbell_id}`,
        ),
      )
    this.last = { at: now, turn_seq, bell, reached: true }
  }

  /** The surface did not take it: that one counts for nothing. */
  notTaken(bell: Doorbell): void {
    if (this.last?.bell === bell) this.last.reached = false
  }
}
