/** Sends events of a session to the hub, in reports within its limits and below its rate. */
import type { HistoryEvent } from './recorder.ts'
import type { ActivityReceipt, ActivityReport, ReportedEvent } from '../../../contracts/activity/event.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Clock } from '../../../ports/clock.ts'
import { pause } from '../../../ports/pause.ts'
import type { Ids } from '../../../ports/random.ts'

export interface SenderDeps {
  report: (report: ActivityReport) => Promise<ActivityReceipt>
  clock: Pick<Clock, 'monotonic' | 'after'>
  ids: Pick<Ids, 'next'>
}

export interface Sender {
  /** Collects an event, and sends a full report. Resolves with false if the hub stores nothing of the session. */
  add(event: HistoryEvent): Promise<boolean>
  /** Sends what remains. */
  flush(): Promise<boolean>
  /** Number of events that were not stored before. */
  accepted(): number
}

export type Rate = ReturnType<typeof createRate>

/** Shared by all sessions, because the hub limits the caller. */
export function createRate(clock: SenderDeps['clock']) {
  let left: number = LIMITS.history_burst_events_max
  let at = clock.monotonic()
  return async (events: number): Promise<void> => {
    const now = clock.monotonic()
    left = Math.min(LIMITS.history_burst_events_max, left + ((now - at) * LIMITS.history_rate_max) / 1_000)
    at = now
    left -= events
    if (left < 0) await pause(clock, Math.ceil((-left * 1_000) / LIMITS.history_rate_max))
  }
}

export function createSender(
  { report, clock, ids }: SenderDeps,
  wait: Rate,
  of: Pick<ActivityReport, 'session_id' | 'client' | 'identity'>,
): Sender {
  let events: ReportedEvent[] = []
  let bytes = 0
  let accepted = 0

  async function flush(): Promise<boolean> {
    if (events.length === 0) return true
    const full = { ...of, events }
    events = []
    bytes = 0
    await wait(full.events.length)
    const receipt = await untilStored(full)
    accepted += receipt.accepted
    return receipt.accepted + receipt.duplicates > 0
  }

  /** Repeats a report that the hub dropped because of its rate or its disk. */
  async function untilStored(full: ActivityReport): Promise<ActivityReceipt> {
    for (let attempt = 0; attempt < LIMITS.history_retries_max; attempt++) {
      const receipt = await report(full)
      if (receipt.dropped === undefined) return receipt
      await pause(clock, LIMITS.history_retry_ms)
    }
    throw new TurnbellError('store_unavailable', {
      detail: `the hub dropped ${full.events.length} events of the session ${full.session_id} ${LIMITS.history_retries_max} times`,
      hint: 'Check the disk of the hub with `turnbell doctor`, then run the import again; it continues.',
    })
  }

  return {
    async add(event) {
      const reported = { ...event, event_id: ids.next(), source: 'import' } as ReportedEvent
      const size = Buffer.byteLength(JSON.stringify(reported))
      const fits =
        events.length < LIMITS.activity_report_events_max && bytes + size <= LIMITS.activity_report_bytes_max
      const is_stored = fits || (await flush())
      events.push(reported)
      bytes += size
      return is_stored
    },
    flush,
    accepted: () => accepted,
  }
}
