/** Tool calls that the module in the client has reported. It reports every turn before the calls of that turn. */
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'

export interface ReportedCalls {
  add(tool_use_id: string): void
  /** Resolves when the call is reported, and after `mod_receipt_ms` without a report. */
  wait(tool_use_id: string): Promise<void>
}

/** Maximum number of calls that are remembered. Between the report and the call of a tool are few others. */
const REPORTED_MAX = 64

export function createReportedCalls(clock: Pick<Clock, 'after'>): ReportedCalls {
  const reported = new Set<string>()
  const waiting = new Map<string, () => void>()
  return {
    add(tool_use_id) {
      reported.add(tool_use_id)
      for (const oldest of reported) {
        if (reported.size <= REPORTED_MAX) break
        reported.delete(oldest)
      }
      waiting.get(tool_use_id)?.()
    },
    wait(tool_use_id) {
      if (reported.has(tool_use_id)) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          timeout.cancel()
          waiting.delete(tool_use_id)
          resolve()
        }
        const timeout = clock.after(LIMITS.mod_receipt_ms, done)
        waiting.set(tool_use_id, done)
      })
    },
  }
}
