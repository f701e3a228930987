/** The event stream over HTTP: a JSON page, or resumable server-sent events. */
import type { ServerResponse } from 'node:http'
import type { HubEvent } from '../../contracts/events.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import { readableBy } from '../../kernel/gate.ts'
import { mayReadEvent } from '../../kernel/policy.ts'
import type { EventLog, EventQuery } from '../../ports/event-log.ts'
import type { HubApi } from '../hub-api.ts'
import { whenClosed } from './answered.ts'

/** Parses `since`: a seq or an ISO time. Throws `request_invalid`. */
export function position(since: string | undefined): number | string | undefined {
  if (since === undefined) return undefined
  if (/^\d{1,15}$/.test(since)) return Number(since)
  if (!Number.isNaN(Date.parse(since)) && /^\d{4}-/.test(since)) return since
  throw new TurnbellError('request_invalid', {
    detail: `since: expected a seq or an ISO time, found ${JSON.stringify(since)}`,
    hint: 'Use `next` of the previous page, or a time like 2026-01-31T12:00:00Z.',
  })
}

/**
 * Returns one page of the events that the caller may read. `next` is after hidden events; only the last page is shorter
 * than its limit.
 */
export function readPage(
  events: EventLog,
  caller: Caller,
  query: EventQuery,
): { events: HubEvent[]; next: number } {
  const visible: HubEvent[] = []
  for (let since = query.since; ;) {
    const page = events.read({
      ...query,
      ...(since === undefined ? {} : { since }),
      limit: LIMITS.events_page_max,
    })
    for (const event of page.events) {
      if (!mayReadEvent(caller, event)) continue
      visible.push(readableBy(caller, event))
      if (visible.length === query.limit) return { events: visible, next: event.seq }
    }
    if (page.events.length < LIMITS.events_page_max) return { events: visible, next: page.next }
    since = page.next
  }
}

/** Number of events read from the log at once. */
const STREAM_PAGE = 100

/**
 * Writes events to an open response until it closes (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * The log is the buffer: events for a slow reader are read once the socket drains, so a stalled browser only costs the
 * memory of its position.
 */
export function streamEvents(
  response: ServerResponse,
  caller: Caller,
  filter: Omit<EventQuery, 'since' | 'limit'>,
  since: number | string | undefined,
  { events, clock, log }: Pick<HubApi, 'events' | 'clock' | 'log'>,
): { end(): void } {
  // Without a position, the stream starts with the next event.
  let next = since
  let stalled_at: number | null = null
  let open = true

  const write = (text: string) => {
    if (!response.write(text)) stalled_at = clock.monotonic()
  }
  const pump = () => {
    while (open && stalled_at === null && next !== undefined) {
      const page = readPage(events, caller, { ...filter, since: next, limit: STREAM_PAGE })
      for (const event of page.events) {
        // Also written if the socket's buffer is full; only the next page waits.
        write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      }
      next = page.next
      if (page.events.length < STREAM_PAGE) return
    }
  }
  const onEvent = (event: HubEvent) => {
    next ??= event.seq - 1
    pump()
  }
  const beat = () => {
    if (stalled_at === null) write(': \n\n')
    else if (clock.monotonic() - stalled_at > LIMITS.sse_silence_max_ms) {
      log.info({}, 'event stream closed: not read')
      response.destroy()
    }
  }

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  response.on('drain', () => {
    stalled_at = null
    pump()
  })
  const stopWatching = events.watch(onEvent)
  const heartbeat = clock.every(LIMITS.sse_heartbeat_ms, beat)
  const stop = () => {
    open = false
    stopWatching()
    heartbeat.cancel()
  }
  whenClosed(response, stop)
  response.on('error', stop)
  write(': turnbell events\n\n')
  pump()
  return {
    end() {
      stop()
      response.end()
    },
  }
}
