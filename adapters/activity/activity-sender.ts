/**
 * Sends an adapter's reports of activity to the hub, one at a time and in order, and spools what the hub does not take.
 *
 * The hub removes secrets before it stores an event. A shim does that only for what it writes itself, the spool, because the
 * rules for it take 15 MiB of memory in each process.
 */
import { withoutTexts } from './captured.ts'
import type { Numbers, SessionNumbers } from './session-numbers.ts'
import type { Taken, WaitingEvents } from './waiting-events.ts'
import type { ActivityReceipt, ActivityReport, ReportedEvent } from '../../src/contracts/activity/event.ts'
import { TurnbellError, type ErrorCode } from '../../src/contracts/errors/errors.ts'
import type { SessionId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ActivitySenderDeps {
  client: string
  clock: Pick<Clock, 'monotonic' | 'after'>
  /** Sends a report once. Rejects if the hub did not take it. */
  send: (report: ActivityReport) => Promise<ActivityReceipt>
  /** Removes secrets. May reject: the texts are then left out. */
  redact: (event: ReportedEvent) => Promise<ReportedEvent>
  /** Returns false if the spool is full. Throws if the disk refuses the report. */
  spool: (report: ActivityReport) => boolean
  log: Log
}

/** Codes with which a hub rejects a report that no repetition makes valid. */
const REJECTED: readonly ErrorCode[] = [
  'params_invalid',
  'request_invalid',
  'body_too_large',
  'kind_forbidden',
  'identity_mismatch',
]

export interface ActivitySender {
  /** Sends what waits, as soon as the time between two reports allows. */
  schedule(): void
  /** Sends what waits without that time. */
  hurry(): void
  /** Spools what waits. */
  close(): void
}

export function activitySender(
  deps: ActivitySenderDeps,
  numbers: SessionNumbers,
  waiting: WaitingEvents,
): ActivitySender {
  const { client, clock, log } = deps
  const { exchanged, compared } = numberedExchange(deps, numbers)
  const redact = reportRedaction(deps)
  const spool = reportSpool(deps)
  let state: 'open' | 'sending' | 'closed' = 'open'
  const isClosed = () => state === 'closed'
  let timer: Timer | null = null
  let next_ms = -Infinity
  /** The report that the hub has not answered. */
  let in_flight: ActivityReport | null = null

  function nextReport(taken: Taken): ActivityReport {
    const { session_id, events } = taken
    const report = { session_id, client, events: numbered(events, numbers.of(session_id)) }
    numbers.store(session_id)
    return report
  }

  async function sendNext(): Promise<void> {
    const session_id = waiting.first()
    if (session_id === null) return
    const is_there = await compared(session_id)
    const taken = isClosed() ? null : waiting.take()
    if (taken === null) return
    in_flight = nextReport(taken)
    const outcome = is_there ? await exchanged(in_flight) : 'away'
    if (outcome === 'away' && !isClosed()) {
      const redacted = await redact(in_flight)
      // Otherwise `close` has spooled it.
      if (!isClosed()) spool(redacted)
    }
    in_flight = null
    next_ms = clock.monotonic() + (outcome === 'away' ? LIMITS.activity_retry_ms : LIMITS.activity_batch_ms)
  }

  async function send(): Promise<void> {
    timer = null
    state = 'sending'
    await sendNext().catch((error: unknown) => log.error({ err: error }, 'activity not sent'))
    if (isClosed()) return
    state = 'open'
    schedule()
  }

  function schedule(): void {
    if (state !== 'open' || timer !== null || waiting.first() === null) return
    timer = clock.after(Math.max(0, next_ms - clock.monotonic()), () => void send())
  }

  return {
    schedule,
    hurry() {
      next_ms = -Infinity
      timer?.cancel()
      timer = null
    },
    close() {
      if (isClosed()) return
      state = 'closed'
      timer?.cancel()
      if (in_flight !== null) spool(reportWithoutTexts(in_flight))
      for (let next = waiting.take(); next !== null; next = waiting.take())
        spool(reportWithoutTexts(nextReport(next)))
    },
  }
}

/** Sends reports, and takes the hub's numbers over. */
function numberedExchange(deps: ActivitySenderDeps, numbers: SessionNumbers) {
  const exchange = hubExchange(deps)

  async function exchanged(report: ActivityReport): Promise<Outcome> {
    const receipt = await exchange(report)
    if (typeof receipt === 'object') {
      const of = numbers.of(report.session_id)
      of.next_seq = Math.max(of.next_seq, receipt.next_seq)
    }
    return receipt
  }

  /** Continues above the numbers that the hub knows, if this machine has none. Returns false if the hub is away. */
  async function compared(session_id: SessionId): Promise<boolean> {
    if (numbers.of(session_id).is_known) return true
    if ((await exchanged({ session_id, client: deps.client, events: [] })) === 'away') return false
    numbers.of(session_id).is_known = true
    return true
  }

  return { exchanged, compared }
}

function numbered(events: Taken['events'], of: Numbers): ReportedEvent[] {
  return events.map(({ event, gap }) => {
    const seq = of.next_seq + gap
    of.next_seq = seq + 1
    return { ...event, seq }
  })
}

type Outcome = ActivityReceipt | 'away' | 'rejected'

/** Sends a report and waits at most `activity_answer_ms`. Never rejects. */
function hubExchange({ send, clock, log }: ActivitySenderDeps): (report: ActivityReport) => Promise<Outcome> {
  let is_away = false

  function failed(error: unknown): Outcome {
    if (error instanceof TurnbellError && REJECTED.includes(error.code)) {
      log.warn({ err: error }, 'activity rejected by the hub')
      return 'rejected'
    }
    if (!is_away) log.info({ err: error }, 'hub takes no activity; it is spooled')
    is_away = true
    return 'away'
  }

  return (report) =>
    new Promise((resolve) => {
      const timeout = clock.after(LIMITS.activity_answer_ms, () =>
        resolve(failed(new Error(`no answer within ${LIMITS.activity_answer_ms} ms`))),
      )
      // A promise that resolves after the timeout changes nothing: the hub ignores the spooled repetition.
      void Promise.resolve()
        .then(() => send(report))
        .then((receipt): Outcome => {
          is_away = false
          if ((receipt.dropped ?? 0) > 0) log.debug({ dropped: receipt.dropped }, 'hub dropped activity')
          return receipt
        })
        .catch(failed)
        .then((outcome) => {
          timeout.cancel()
          resolve(outcome)
        })
    })
}

function reportRedaction({ redact, log }: ActivitySenderDeps) {
  const safely = async (event: ReportedEvent): Promise<ReportedEvent> => {
    try {
      return await redact(event)
    } catch (error) {
      log.warn(
        { err: error, kind: event.kind },
        'texts of activity not spooled: secrets could not be removed',
      )
      return withoutTexts(event)
    }
  }
  return async (report: ActivityReport): Promise<ActivityReport> => ({
    ...report,
    // Together, because one run of the rules checks all texts of a tick.
    events: await Promise.all(report.events.map(safely)),
  })
}

const reportWithoutTexts = (report: ActivityReport): ActivityReport => ({
  ...report,
  events: report.events.map((event) => withoutTexts(event)),
})

/** Spools a report. If that fails, the events are lost, and the hub sees that their numbers are missing. */
function reportSpool({ spool, log }: ActivitySenderDeps): (report: ActivityReport) => void {
  let is_failing = false
  return (report) => {
    const events = report.events.length
    try {
      if (spool(report)) {
        is_failing = false
        return
      }
      if (!is_failing) log.warn({ events }, 'activity lost: the spool is full')
    } catch (error) {
      if (!is_failing) log.warn({ err: error, events }, 'activity lost: the spool cannot be written')
    }
    is_failing = true
  }
}
