/** Generates signals in the format of a journal. */
import type { Signal } from '../src/contracts/signal.ts'
import type { Ids } from '../src/ports/random.ts'
import { PAYLOAD } from './payload.ts'

const DAY_MS = 86_400_000

/** Yields `count` signals for the recipients in turn, each created on demand. */
export function* signalsTo(
  ids: Ids,
  signals: number,
  recipients: number,
  prefix = 'recipient',
): Generator<Signal, void, undefined> {
  for (let index = 0; index < signals; index += 1) {
    const now = Date.now()
    yield {
      signal_id: ids.next(),
      to: `${prefix}-${index % recipients}`,
      from: 'sender-1',
      origin: 'agent',
      intent: 'review.request',
      payload: PAYLOAD,
      priority: 3,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + DAY_MS).toISOString(),
    }
  }
}
