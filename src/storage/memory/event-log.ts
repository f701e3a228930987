/** The newest events in memory, and who watches them. The file log keeps its answers in one of these. */
import type { HubEvent } from '../../contracts/events.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'

export interface MemoryEventLogOptions {
  events_max?: number
  /** What was there before, oldest first. */
  before?: readonly HubEvent[]
  /** New events come after this one. */
  last_seq?: number
}

export function createMemoryEventLog(
  clock: Pick<Clock, 'now'>,
  { events_max = LIMITS.event_log_events_max, before = [], last_seq = 0 }: MemoryEventLogOptions = {},
): EventLog {
  /** Trimmed to `events_max` only once it is twice as long, so that an append stays cheap. */
  let events = before.slice(-events_max)
  let seq = Math.max(last_seq, events.at(-1)?.seq ?? 0)
  const watchers = new Set<(event: HubEvent) => void>()

  return {
    append({ type, agent_id, data }) {
      const event: HubEvent = { seq: ++seq, timestamp: timestamp(clock), type, agent_id, data }
      events.push(event)
      if (events.length >= 2 * events_max) events = events.slice(-events_max)
      for (const watcher of watchers) watcher(event)
      return event
    },
    read({ since = 0, agent_id, run_id, type, limit }) {
      const kept = events.slice(-events_max)
      const found: HubEvent[] = []
      const after = typeof since === 'string' ? Date.parse(since) : -Infinity
      // Who asks from beyond the end is told where it is, and misses nothing from there on.
      let next = typeof since === 'number' ? Math.min(since, seq) : 0
      for (const event of typeof since === 'number' ? kept.slice(firstAfter(kept, since)) : kept) {
        if (found.length === limit) break
        next = event.seq
        if (Date.parse(event.timestamp) <= after) continue
        if (agent_id !== undefined && ![event.agent_id, event.data['agent_id']].includes(agent_id)) continue
        if (run_id !== undefined && event.data['run_id'] !== run_id) continue
        if (type !== undefined && !matches(event.type, type)) continue
        found.push(event)
      }
      return { events: found, next }
    },
    written: async () => undefined,
    watch(onEvent) {
      // A wrapper of its own: the same function may watch twice.
      const watcher = (event: HubEvent) => onEvent(event)
      watchers.add(watcher)
      return () => void watchers.delete(watcher)
    },
    async close() {
      watchers.clear()
    },
  }
}

function matches(type: string, wanted: string): boolean {
  return wanted.endsWith('.') ? type.startsWith(wanted) : type === wanted
}

/** Seqs only grow, so the place is found by halving. */
function firstAfter(events: readonly HubEvent[], seq: number): number {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((events[middle] as HubEvent).seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}
