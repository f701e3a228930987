import { isDeepStrictEqual } from 'node:util'
import { TurnbellError } from '../contracts/errors.ts'
import type { Json } from '../contracts/ids.ts'
import type { Signal } from '../contracts/signal.ts'

/** What a sender asks for. Ids, times and the lifetime are not part of it: a retry has its own. */
const REQUEST = [
  'to',
  'intent',
  'topic',
  'priority',
  'reply_to',
  'in_reply_to',
  'to_session',
  'request_digest',
] as const

/** `idempotency_key_reused` if `again` is not the request that its key was used for first; null if it is. */
export function reuseRefusal(first: Signal, again: Signal): TurnbellError | null {
  const differing: string[] = REQUEST.filter((field) => first[field] !== again[field])
  if (!isDeepStrictEqual(stored(first.payload), stored(again.payload))) differing.push('payload')
  if (differing.length === 0) return null
  return new TurnbellError('idempotency_key_reused', {
    detail: `The idempotency_key ${JSON.stringify(again.idempotency_key)} was used by ${again.from} for signal ${first.signal_id}; this request differs in ${differing.join(', ')}.`,
  })
}

/** As a journal returns it: the order of members does not count, and -0 is 0. */
function stored(payload: Json): unknown {
  return JSON.parse(JSON.stringify(payload ?? null))
}
