/** What arrived for the person, from the hub's event stream. It never contains what a signal says. */
import type { HubEvent } from '../../contracts/events.ts'
import { OPERATOR } from '../../contracts/ids.ts'

export interface Mail {
  signal_id: string
  from: string
  intent: string
  at: string
}

const KEPT = 20

/** Newest first. An event that is known already changes nothing. */
export function withMail(mail: readonly Mail[], events: readonly HubEvent[]): Mail[] {
  const known = new Map(mail.map((one) => [one.signal_id, one]))
  for (const { type, agent_id, data, timestamp } of events) {
    const { signal_id, from, intent } = data
    if (type !== 'signal.pushed' || agent_id !== OPERATOR) continue
    if (typeof signal_id !== 'string' || typeof from !== 'string' || typeof intent !== 'string') continue
    if (!known.has(signal_id)) known.set(signal_id, { signal_id, from, intent, at: timestamp })
  }
  return [...known.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, KEPT)
}

export const describeMail = ({ from, intent, signal_id }: Mail) =>
  `for you: ${intent} from ${from}, ${signal_id}; turnbell inbox shows it`
