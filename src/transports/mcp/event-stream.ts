/** MCP messages as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

import type { ServerResponse } from 'node:http'
import { withExactIds } from './exact-ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import { whenClosed } from '../http/answered.ts'

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export function eventOf(message: object): string {
  return `event: message\ndata: ${withExactIds(JSON.stringify(message))}\n\n`
}

/** Closes a stream that its client does not read; otherwise its buffer would grow without limit. */
export function cutWhenStalled(
  response: ServerResponse,
  { clock }: { clock: Pick<Clock, 'every' | 'monotonic'> },
): void {
  let stalled_at: number | null = null
  const look: Timer = clock.every(LIMITS.sse_heartbeat_ms, () => {
    if (!response.writableNeedDrain) return
    stalled_at ??= clock.monotonic()
    if (clock.monotonic() - stalled_at >= LIMITS.sse_silence_max_ms) response.destroy()
  })
  response.on('drain', () => (stalled_at = null))
  whenClosed(response, () => look.cancel())
}

/** Returns whether the Accept header includes server-sent events. */
export function takesEvents(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') === true
}
