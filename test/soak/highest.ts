/** Tracks the peak memory of a process over all its restarts. */
import { rssMib } from './gauges.ts'

const LOOK_MS = 100

export class Highest {
  /** 0 until the first measurement. */
  mib = 0
  private readonly looking: NodeJS.Timeout

  constructor(pidNow: () => number | null) {
    this.looking = setInterval(() => {
      const pid = pidNow()
      if (pid !== null) this.mib = Math.max(this.mib, rssMib(pid) ?? 0)
    }, LOOK_MS)
  }

  close(): void {
    clearInterval(this.looking)
  }
}
