/**
 * The plugin contract: a place where an agent can be reached, in three functions and no more.
 * Every adapter runs `test/suites/surface.suite.ts`.
 *
 * An adapter rings; whether to ring is the daemon's decision. What it returns is never an
 * acknowledgment, and it keeps no list of signals.
 */
import type { ReportAnswer, RingResult, SurfaceReport, SurfaceStatus } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'

export interface Surface {
  /** Puts the doorbell into the surface's own queue; promises nothing more. Never throws: a failure is a proof. */
  notify_surface(doorbell: Doorbell): Promise<RingResult>
  /** The agent's UI was restarted: drop the old attachment and bind again. */
  resume_surface(): Promise<void>
  /** Is it there, and where does its turn stand. */
  status(): Promise<SurfaceStatus>
}

/** The daemon as a shim sees it. */
export interface SurfaceHost {
  /**
   * Tells the daemon what changed. With `take`, the answer may carry a doorbell that this very answer
   * must hand to the agent. Resolves with `{ doorbell: null }` while the daemon is away.
   */
  report(report: SurfaceReport): Promise<ReportAnswer>
}
