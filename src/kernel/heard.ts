/** The event stream as one caller may look back at it. */
import { folded } from '../contracts/same-text.ts'
import type { EventsWanted } from './define.ts'
import { mayHear } from './policy.ts'
import type { HubEvent } from '../contracts/events.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Caller } from '../contracts/token.ts'
import type { EventLog } from '../ports/event-log.ts'

/** Newest first, of all that are still kept. */
export function heard(
  events: Pick<EventLog, 'read'>,
  caller: Caller,
  { types, text, limit }: EventsWanted,
): HubEvent[] {
  const words = text === undefined ? undefined : folded(text)
  const wanted = (event: HubEvent) =>
    (types === undefined || types.some((type) => isOfType(event, type))) &&
    mayHear(caller, event) &&
    (words === undefined || folded(JSON.stringify(event.data)).includes(words))
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
