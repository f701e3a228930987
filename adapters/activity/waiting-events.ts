/**
 * Captured events that wait for the hub, in order. The queue is bounded by events and by bytes, and remembers where it dropped
 * something, so that the number of a dropped event is not given to another one.
 */
import { withCutTexts, withoutTexts, type Captured } from './captured.ts'
import type { ReportedEvent } from '../../src/contracts/activity/event.ts'
import type { SessionId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'

/** An event without its number. */
export type Unnumbered = Captured &
  Pick<ReportedEvent, 'event_id' | 'agent_id' | 'turn_seq' | 'at' | 'source'>

/** Events of one session, for one report. */
export interface Taken {
  session_id: SessionId
  /** `gap` is the number of events before it that are missing. */
  events: { event: Unnumbered; gap: number }[]
}

export interface WaitingEvents {
  push(session_id: SessionId, event: Unnumbered): void
  /** Events of the session are missing before the next one. */
  missed(session_id: SessionId, events: number): void
  /** Session of the first event; null if nothing waits. */
  first(): SessionId | null
  /** Takes the events at the begin of the queue that fit into one report. */
  take(): Taken | null
}

interface Waiting {
  session_id: SessionId
  event: Unnumbered
  bytes: number
  gap: number
}

/** Space for the number of an event and for the fields of a report. */
const NUMBER_BYTES = 32
const REPORT_BYTES = 4_096

export function createWaitingEvents(): WaitingEvents {
  const waiting: Waiting[] = []
  /** Missing events after the last one of a session that waits. */
  const gaps = new Map<SessionId, number>()
  let bytes = 0

  function addGap(session_id: SessionId, events: number): void {
    gaps.set(session_id, (gaps.get(session_id) ?? 0) + events)
  }

  function dropOldest(): void {
    const dropped = waiting.shift()
    if (dropped === undefined) return
    bytes -= dropped.bytes
    const { session_id, gap } = dropped
    const next = waiting.find((one) => one.session_id === session_id)
    if (next === undefined) addGap(session_id, gap + 1)
    else next.gap += gap + 1
  }

  /** Leaves the texts out if too many bytes wait, or if they are too long for a report. */
  function bounded(given: Unnumbered): { event: Unnumbered; bytes: number } {
    const event = withCutTexts(given)
    const size = bytesOf(event)
    const fits =
      bytes + size <= LIMITS.activity_queue_bytes_max &&
      REPORT_BYTES + size <= LIMITS.activity_report_bytes_max
    if (fits) return { event, bytes: size }
    const facts = withoutTexts(given)
    return { event: facts, bytes: bytesOf(facts) }
  }

  return {
    push(session_id, given) {
      const one = { session_id, gap: gaps.get(session_id) ?? 0, ...bounded(given) }
      gaps.delete(session_id)
      waiting.push(one)
      bytes += one.bytes
      if (waiting.length > LIMITS.activity_queue_events_max) dropOldest()
    },
    missed: addGap,
    first: () => waiting[0]?.session_id ?? null,
    take() {
      const [first] = waiting
      if (first === undefined) return null
      const taken = waiting.splice(0, reportLength(waiting))
      for (const one of taken) bytes -= one.bytes
      return { session_id: first.session_id, events: taken.map(({ event, gap }) => ({ event, gap })) }
    },
  }
}

/** Returns how many events at the begin of the queue make one report. */
function reportLength(waiting: readonly Waiting[]): number {
  let size = REPORT_BYTES
  const end = waiting.findIndex((one, index) => {
    size += one.bytes + NUMBER_BYTES
    const fits = size <= LIMITS.activity_report_bytes_max && index < LIMITS.activity_report_events_max
    return one.session_id !== waiting[0]?.session_id || (!fits && index > 0)
  })
  return end === -1 ? waiting.length : end
}

const bytesOf = (value: object) => Buffer.byteLength(JSON.stringify(value))
