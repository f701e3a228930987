/** A clock that advances by itself, but only while nothing else runs. */
import { fakeClock, type FakeClock } from '../support/fakes/fake-clock.ts'
import { insist } from './target.ts'
import { tick } from './peers/wire.ts'

/** After this number of ticks of the event loop without activity, everything waits for the clock. */
const QUIET_TICKS = 6
const STEP_MIN_MS = 50
const STEP_MAX_MS = 60_000
/**
 * Longer than any wait in the product: the longest is a confirmation, which waits ten minutes for an unreachable hub.
 */
const PATIENCE_MS = 2 * 3_600_000

export class IdleTime {
  readonly clock: FakeClock = fakeClock()
  private moves = 0

  /** Records activity. */
  moved(): void {
    this.moves += 1
  }

  /** Resolves when `holds` returns true, or when all activity waits for the clock. */
  async rest(holds: () => boolean = () => false): Promise<void> {
    for (let quiet = 0, { moves } = this; quiet < QUIET_TICKS && !holds(); quiet += 1) {
      await tick()
      if (this.moves === moves) continue
      moves = this.moves
      quiet = 0
    }
  }

  /** Resolves when `holds` returns true, after any amount of simulated time. Throws if that never happens. */
  async until(what: string, holds: () => boolean): Promise<void> {
    let waited_ms = 0
    for (let step_ms = STEP_MIN_MS; ; step_ms = Math.min(step_ms * 2, STEP_MAX_MS)) {
      await this.rest(holds)
      if (holds()) return
      insist(waited_ms < PATIENCE_MS, () => `${what} never came`)
      await this.clock.advance(step_ms)
      waited_ms += step_ms
    }
  }

  /** Settles like the promise; throws if the promise stays pending. */
  async settled<T>(what: string, promise: Promise<T>): Promise<T> {
    let settled = false
    const done = () => void (settled = true)
    promise.then(done, done)
    await this.until(what, () => settled)
    return promise
  }
}
