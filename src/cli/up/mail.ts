/** Signals to the operator, from the hub's event stream. They never contain a payload. */
import type { HubEvent } from '../../contracts/events.ts'
import { OPERATOR } from '../../contracts/ids.ts'

export interface Mail {
  signal_id: string
  from: string
  intent: string
  at: string
}

const KEPT = 20

/** Returns the newest first. Known events are ignored. */
export function withMail(mail: readonly Mail[], events: readonly HubEvent[]): Mail[] {
  const known = new Map(mail.map((message) => [message.signal_id, message]))
  for (const { type, agent_id, data, timestamp } of events) {
    const { signal_id, from, intent } = data
    if (type !== 'signal.pushed' || agent_id !== OPERATOR) continue
    if (typeof signal_id !== 'string' || typeof from !== 'string' || typeof intent !== 'string') continue
    if (!known.has(signal_id)) known.set(signal_id, { signal_id, from, intent, at: timestamp })
  }
  return [...known.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, KEPT)
}

export const describeMail = ({ from, intent, signal_id }: Mail) =>
  `for you: ${intent} from ${from}, ${signal_id}; read it with turnbell inbox`
