/** Time that goes on by itself, but only where nothing else does. */
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { insist } from './target.ts'
import { turn } from './wire.ts'

/** What has not moved for so many turns of the loop waits for time. */
const QUIET_TURNS = 6
const STEP_MIN_MS = 50
const STEP_MAX_MS = 60_000
/** Longer than anything waits: a confirmation does longest, ten minutes for a hub that is away. */
const PATIENCE_MS = 2 * 3_600_000

export class IdleTime {
  readonly clock: FakeClock = fakeClock()
  private moves = 0

  /** To be told of whatever moves. */
  moved(): void {
    this.moves += 1
  }

  /** Resolves once it holds, or nothing moves any more that does not wait for time. */
  async rest(holds: () => boolean = () => false): Promise<void> {
    for (let quiet = 0, { moves } = this; quiet < QUIET_TURNS && !holds(); quiet += 1) {
      await turn()
      if (this.moves === moves) continue
      moves = this.moves
      quiet = 0
    }
  }

  /** Resolves once it holds, however long that takes. Throws where it never will. */
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

  /** As the promise does, which may not stay open for ever. */
  async settled<T>(what: string, promise: Promise<T>): Promise<T> {
    let settled = false
    const done = () => void (settled = true)
    promise.then(done, done)
    await this.until(what, () => settled)
    return promise
  }
}
