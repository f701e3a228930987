/** Compares two requests that use the same idempotency key. */
import { isDeepStrictEqual } from 'node:util'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Json } from '../contracts/ids.ts'
import type { Signal } from '../contracts/signal.ts'

/** Fields of a request that a retry must repeat. Ids, times and the lifetime differ between retries. */
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

/** Returns `idempotency_key_reused` if `again` differs from the first request with its key; null if it does not. */
export function reuseRefusal(first: Signal, again: Signal): TurnbellError | null {
  const differing: string[] = REQUEST.filter((field) => first[field] !== again[field])
  if (!isDeepStrictEqual(stored(first.payload), stored(again.payload))) differing.push('payload')
  if (differing.length === 0) return null
  return new TurnbellError('idempotency_key_reused', {
    detail: `The idempotency_key ${JSON.stringify(again.idempotency_key)} was used by ${again.from} for signal ${first.signal_id}; this request differs in ${differing.join(', ')}.`,
  })
}

/** Returns the payload as a journal returns it: member order does not matter, and -0 is 0. */
function stored(payload: Json): unknown {
  return JSON.parse(JSON.stringify(payload ?? null))
}
