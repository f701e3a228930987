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
  /** Drops the old attachment and attaches again, after the agent's UI was restarted. */
  resume_surface(): Promise<void>
  /** Returns whether the surface is present, and the state of its turn. */
  status(): Promise<SurfaceStatus>
}

/** The daemon, as used by a shim. */
export interface SurfaceHost {
  /**
   * Reports a change to the daemon. With `take`, the response may contain a doorbell, which the shim must deliver to the
   * agent in its own response. Resolves with `{ doorbell: null }` while the daemon is not reachable.
   */
  report(report: SurfaceReport): Promise<ReportAnswer>
}
