/** Sends requests and reports to the hub one at a time. A report is retried by the upstream and may fail in the end. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import { createSerialQueue, type SerialQueue } from '../../ports/serial-queue.ts'
import type { Log } from '../../ports/log.ts'

export interface HubReports {
  /** Runs the step after all earlier ones. */
  enqueue: SerialQueue
  /** Enqueues a report. `then` receives whether it succeeded, before the next step runs. */
  report(what: string, step: () => Promise<unknown>, then: (reported: boolean) => void): void
  /** Number of reports that have not been sent. */
  outstanding(): number
  /** Resolves once every report so far was sent or failed; steps that are not reports are not waited for. */
  settled(): Promise<void>
}

/** `onReported` is called after each report. */
export function createHubReports(log: Log, onReported: () => void): HubReports {
  const enqueue = createSerialQueue()
  let outstanding = 0
  let last: Promise<void> = Promise.resolve()

  return {
    enqueue,
    report(what, step, then) {
      if (outstanding >= LIMITS.bridge_confirms_max) {
        log.warn({}, `too many reports to the hub are waiting; dropped: ${what}`)
        return then(false)
      }
      outstanding += 1
      last = enqueue(step)
        .then(
          () => {
            log.debug({}, what)
            return true
          },
          (error: unknown) => {
            log.warn({ err: error }, `report to the hub failed: ${what}`)
            return false
          },
        )
        .then((reported) => {
          then(reported)
          outstanding -= 1
          onReported()
        })
    },
    outstanding: () => outstanding,
    settled: () => last,
  }
}
