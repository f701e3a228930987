/** The one event stream over HTTP: a page of JSON, or server-sent events that can be resumed. */
import type { ServerResponse } from 'node:http'
import type { HubEvent } from '../../contracts/events.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import { mayHear } from '../../kernel/policy.ts'
import type { EventLog, EventQuery } from '../../ports/event-log.ts'
import type { Doors } from '../doors.ts'
import { whenClosed } from './answered.ts'

/** `since` as a caller spells it: a seq, or an ISO time. */
export function position(since: string | undefined): number | string | undefined {
  if (since === undefined) return undefined
  if (/^\d{1,15}$/.test(since)) return Number(since)
  if (!Number.isNaN(Date.parse(since)) && /^\d{4}-/.test(since)) return since
  throw new TurnbellError('request_invalid', {
    detail: `since: expected a seq or an ISO time, found ${JSON.stringify(since)}`,
    hint: 'Take `next` of the page before, or a time like 2026-01-31T12:00:00Z.',
  })
}

/**
 * One page of what this caller may hear. `next` moves past what was hidden, and only the last page is
 * shorter than its limit.
 */
export function readPage(
  events: EventLog,
  caller: Caller,
  query: EventQuery,
): { events: HubEvent[]; next: number } {
  const heard: HubEvent[] = []
  for (let since = query.since; ;) {
    const page = events.read({
      ...query,
      ...(since === undefined ? {} : { since }),
      limit: LIMITS.events_page_max,
    })
    for (const event of page.events) {
      if (!mayHear(caller, event)) continue
      heard.push(event)
      if (heard.length === query.limit) return { events: heard, next: event.seq }
    }
    if (page.events.length < LIMITS.events_page_max) return { events: heard, next: page.next }
    since = page.next
  }
}

/** How many are read of the log at once, as long as the reader keeps up. */
const STREAM_PAGE = 100

/**
 * Writes events to an open response until it closes (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * The log is the buffer. What a slow reader has not taken stays there, and is read on once the socket
 * drains; so a stalled browser costs this process nothing but its position.
 */
export function streamEvents(
  response: ServerResponse,
  caller: Caller,
  filter: Omit<EventQuery, 'since' | 'limit'>,
  since: number | string | undefined,
  { events, clock, log }: Pick<Doors, 'events' | 'clock' | 'log'>,
): { end(): void } {
  // Without a position the stream begins with the next event.
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
        // Even what no longer fits the socket's buffer is taken by it; only the next page waits.
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
      log.info({}, 'an event stream was not read and is closed')
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
