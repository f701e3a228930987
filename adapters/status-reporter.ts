/** Reports the status of a surface to the daemon, whenever it differs from what the daemon knows. */
import { saysMore } from './surface-words.ts'
import type { SurfaceStatus } from '../src/contracts/control.ts'
import type { SurfaceHost } from '../src/ports/surface.ts'

export interface StatusReporter {
  open(host: SurfaceHost): void
  /** Reports the status, changed or not. */
  report: () => void
  reportChange: () => void
  close(): void
}

export function statusReporter(status: () => SurfaceStatus): StatusReporter {
  let host: SurfaceHost | null = null
  /** As the daemon knows it. */
  let reported = status()

  function report(): void {
    reported = status()
    void host?.report(reported)
  }

  return {
    open: (daemon) => void (host = daemon),
    report,
    reportChange() {
      if (saysMore(reported, status())) report()
    },
    close: () => void (host = null),
  }
}
