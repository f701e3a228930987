/** Who wants to tell somebody something. */
import { EVERYBODY, type Wish } from './ledger.ts'
import type { World } from './world.ts'

const SENDER_TRIES = 6

/** Says it, and with a key says it again while nobody knows whether it was heard. */
export function send(
  { truth, operator }: World,
  wish: Omit<Wish, 'n' | 'at' | 'tries' | 'noes' | 'accepted'>,
): void {
  const { n } = truth.wish(wish)
  const { to, from, priority, ttl_s } = wish
  const to_all = to === EVERYBODY
  const body = {
    ...{ from, intent: 'test', payload: { n }, priority, ttl_s },
    ...(to_all ? {} : { to }),
    ...(wish.key === null ? {} : { idempotency_key: wish.key }),
    ...(wish.to_session === null ? {} : { to_session: wish.to_session }),
  }
  const path = to_all ? 'signals/broadcast' : 'signals/send'
  void operator.call(path, body, wish.key === null ? 1 : SENDER_TRIES)
}
