/** Reports a surface's status to the daemon when it differs from the last report. */
import { statusDiffers } from './surface-results.ts'
import type { SurfaceStatus } from '../src/contracts/control.ts'
import type { SurfaceHost } from '../src/ports/surface.ts'

export interface StatusReporter {
  open(host: SurfaceHost): void
  /** Reports the status even if it has not changed. */
  report: () => void
  reportChange: () => void
  close(): void
}

export function statusReporter(status: () => SurfaceStatus): StatusReporter {
  let host: SurfaceHost | null = null
  /** The last status that was reported. */
  let reported = status()

  function report(): void {
    reported = status()
    void host?.report(reported)
  }

  return {
    open: (daemon) => void (host = daemon),
    report,
    reportChange() {
      if (statusDiffers(reported, status())) report()
    },
    close: () => void (host = null),
  }
}
