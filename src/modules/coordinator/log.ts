/** The log that agents write for each other: entries are events of the one stream, and reading it is a query there. */
import { LogEntry, type HistoryInput, type HistoryPage, type LogInput } from '../../contracts/coordination.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { checkEventData } from '../event-data.ts'
import { withinBytes } from '../within-bytes.ts'

const LOGGED = 'coordinator.log'

export function writeLog(
  events: Pick<EventLog, 'append'>,
  identity: Identity,
  run_id: string | null,
  { message, level, data }: LogInput,
): { seq: number; timestamp: string } {
  checkEventData(data)
  const { seq, timestamp } = events.append({
    type: LOGGED,
    agent_id: identity,
    data: { message, level, ...(data === undefined ? {} : { data }), ...(run_id === null ? {} : { run_id }) },
  })
  return { seq, timestamp }
}

/** From a position on, oldest first; without one the newest, in the same order. */
export function readLog(
  events: Pick<EventLog, 'read'>,
  { since, agent_id, limit }: HistoryInput,
): HistoryPage {
  const found = events.read({
    type: LOGGED,
    limit: since === undefined ? LIMITS.event_log_events_max : limit,
    ...(since === undefined ? {} : { since }),
    ...(agent_id === undefined ? {} : { agent_id }),
  })
  const entries = found.events.flatMap((event) => entryOf(event) ?? [])
  const shown =
    since === undefined
      ? withinBytes(entries.slice(-limit).reverse(), LIMITS.answer_list_bytes_max).reverse()
      : withinBytes(entries, LIMITS.answer_list_bytes_max)
  const cut = since !== undefined && shown.length < entries.length
  return { entries: shown, next: cut ? (shown.at(-1)?.seq ?? found.next) : found.next }
}

/** Null for what a former version may have written otherwise. */
function entryOf({ seq, timestamp, agent_id, data }: HubEvent): LogEntry | null {
  return LogEntry.safeParse({ ...data, seq, timestamp, agent_id }).data ?? null
}
