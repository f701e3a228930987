/** The newest events in memory, with watchers. The file log uses one for its reads. */
import type { HubEvent } from '../../contracts/events.ts'
import { roughBytes as bytesOf } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'

export interface MemoryEventLogOptions {
  events_max?: number
  bytes_max?: number
  /** Initial events, oldest first. */
  before?: readonly HubEvent[]
  /** New events get higher seqs than this. */
  last_seq?: number
}

export function createMemoryEventLog(
  clock: Pick<Clock, 'now'>,
  {
    events_max = LIMITS.event_log_events_max,
    bytes_max = LIMITS.event_log_bytes_max,
    before = [],
    last_seq = 0,
  }: MemoryEventLogOptions = {},
): EventLog {
  /** Trimmed to both limits only when it is twice one of them, so that an append stays cheap. */
  let events = before.slice(-events_max)
  let bytes = events.reduce((sum, { data }) => sum + bytesOf(data), 0)
  let seq = Math.max(last_seq, events.at(-1)?.seq ?? 0)
  const watchers = new Set<(event: HubEvent) => void>()

  const trim = () => {
    let first = events.length
    bytes = 0
    while (first > Math.max(0, events.length - events_max) && bytes < bytes_max)
      bytes += bytesOf((events[--first] as HubEvent).data)
    events = events.slice(first)
  }

  return {
    append({ type, agent_id, data }) {
      const event: HubEvent = { seq: ++seq, timestamp: timestamp(clock), type, agent_id, data }
      events.push(event)
      bytes += bytesOf(data)
      if (events.length >= 2 * events_max || bytes >= 2 * bytes_max) trim()
      for (const watcher of watchers) watcher(event)
      return event
    },
    read({ since = 0, agent_id, run_id, type, limit }) {
      const matching: HubEvent[] = []
      const after = typeof since === 'string' ? Date.parse(since) : null
      // A `since` beyond the end returns the end, so that the reader misses nothing after it.
      let next = typeof since === 'number' ? Math.min(since, seq) : 0
      const first = Math.max(0, events.length - events_max)
      // An index loop without a copy, because every stream reads after every event.
      for (
        let at = typeof since === 'number' ? firstAfter(events, since, first) : first;
        at < events.length;
        at++
      ) {
        if (matching.length === limit) break
        const event = events[at] as HubEvent
        next = event.seq
        if (after !== null && Date.parse(event.timestamp) <= after) continue
        if (agent_id !== undefined && ![event.agent_id, event.data['agent_id']].includes(agent_id)) continue
        if (run_id !== undefined && event.data['run_id'] !== run_id) continue
        if (type !== undefined && !matches(event.type, type)) continue
        matching.push(event)
      }
      return { events: matching, next }
    },
    written: async () => undefined,
    watch(onEvent) {
      // Wrapped, because the same function may watch twice.
      const watcher = (event: HubEvent) => onEvent(event)
      watchers.add(watcher)
      return () => void watchers.delete(watcher)
    },
    async close() {
      watchers.clear()
    },
  }
}

function matches(type: string, pattern: string): boolean {
  return pattern.endsWith('.') ? type.startsWith(pattern) : type === pattern
}

/** Binary search, because seqs ascend. */
function firstAfter(events: readonly HubEvent[], seq: number, from: number): number {
  let low = from
  let high = events.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((events[middle] as HubEvent).seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}
