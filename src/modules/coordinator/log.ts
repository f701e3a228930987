/** The log that agents write for each other. Its entries are events of the hub's stream, and reading it queries that. */
import { LogEntry, type HistoryInput, type HistoryPage, type LogInput } from '../../contracts/coordination.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { defined } from '../lib/defined.ts'
import { checkEventData } from '../lib/event-data.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'

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
    data: { message, level, ...defined({ data, run_id: run_id ?? undefined }) },
  })
  return { seq, timestamp }
}

/** Returns entries from a position on, oldest first; without a position the newest ones, in the same order. */
export function readLog(
  events: Pick<EventLog, 'read'>,
  { since, agent_id, limit }: HistoryInput,
): HistoryPage {
  const page = events.read({
    type: LOGGED,
    limit: since === undefined ? LIMITS.event_log_events_max : limit,
    ...defined({ since, agent_id }),
  })
  const entries = page.events.flatMap((event) => entryOf(event) ?? [])
  const shown =
    since === undefined
      ? truncateToBytes(entries.slice(-limit).reverse(), LIMITS.answer_list_bytes_max).reverse()
      : truncateToBytes(entries, LIMITS.answer_list_bytes_max)
  const truncated = since !== undefined && shown.length < entries.length
  return { entries: shown, next: truncated ? (shown.at(-1)?.seq ?? page.next) : page.next }
}

/** Null for an event whose data is not a log entry, such as one of an older version. */
function entryOf({ seq, timestamp, agent_id, data }: HubEvent): LogEntry | null {
  return LogEntry.safeParse({ ...data, seq, timestamp, agent_id }).data ?? null
}
