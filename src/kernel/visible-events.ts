/** Events of the stream that a caller may read. */
import { foldCase } from '../contracts/text/same-text.ts'
import type { EventsWanted } from './define.ts'
import { mayReadEvent } from './policy.ts'
import type { HubEvent } from '../contracts/events.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Caller } from '../contracts/token.ts'
import type { EventLog } from '../ports/event-log.ts'

/** Returns matching events, newest first, of all that are still stored. */
export function visibleEvents(
  events: Pick<EventLog, 'read'>,
  caller: Caller,
  { types, text, limit }: EventsWanted,
): HubEvent[] {
  const words = text === undefined ? undefined : foldCase(text)
  const wanted = (event: HubEvent) =>
    (types === undefined || types.some((type) => isOfType(event, type))) &&
    mayReadEvent(caller, event) &&
    (words === undefined || foldCase(JSON.stringify(event.data)).includes(words))
  let found: HubEvent[] = []
  for (let since = 0; ;) {
    const page = events.read({ since, limit: LIMITS.events_page_max })
    found = [...found, ...page.events.filter(wanted)].slice(-limit)
    if (page.events.length < LIMITS.events_page_max) return found.toReversed()
    since = page.next
  }
}

/** An exact type, or a prefix that ends with `.`. */
function isOfType({ type }: HubEvent, wanted: string): boolean {
  return wanted.endsWith('.') ? type.startsWith(wanted) : type === wanted
}
