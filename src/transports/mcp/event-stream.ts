/** MCP messages as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}

/** Whether a client that sends this Accept header reads a stream of events. */
export function takesEvents(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') === true
}
