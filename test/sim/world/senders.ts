/** The senders: agents and operators that send signals. */
import { EVERYBODY, HERALD, type Wish } from '../promises/ledger.ts'
import { RESULT } from '../promises/replies.ts'
import type { World } from './world.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

const SENDER_TRIES = 6
/** Probability that the result of an ack is too large. */
const REFUSED_ACKS = 0.2

/** Sends a wish. With a key, repeats it while its outcome is unknown. */
export function send(
  world: World,
  wish: Omit<Wish, 'n' | 'at' | 'tries' | 'noes' | 'accepted' | 'reply_to'>,
): void {
  const { truth, operator } = world
  const { length: n } = truth.wishes
  const reply_to = replyTo(world, wish.from)
  truth.wish({ ...wish, reply_to })
  const { to, from, priority, ttl_s } = wish
  const to_all = to === EVERYBODY
  const body = {
    ...{ from, intent: 'test', payload: { n }, priority, ttl_s },
    ...(to_all ? {} : { to }),
    ...(wish.key === null ? {} : { idempotency_key: wish.key }),
    ...(reply_to === null ? {} : { reply_to }),
    ...(wish.to_session === null ? {} : { to_session: wish.to_session }),
  }
  const path = to_all ? 'signals/broadcast' : 'signals/send'
  void operator.call(path, body, wish.key === null ? 1 : SENDER_TRIES)
}

function replyTo({ replies, personas, truth }: World, from: string): string | null {
  if (replies === null || from === HERALD) return null
  if (replies === 'operator') return replies
  // The operator gets no reply to an ack of their own.
  return from === 'operator' ? (personas[truth.wishes.length % personas.length] ?? null) : from
}

/** Larger than the payload limit. */
const TOO_LARGE = 'x'.repeat(LIMITS.payload_bytes_max)

/** Returns the result that an ack carries where senders wait for replies; occasionally one that is rejected. */
export function ackResult({ replies, dice }: Pick<World, 'replies' | 'dice'>): { result?: string } {
  if (replies === null) return {}
  return { result: dice.chance(REFUSED_ACKS) ? TOO_LARGE : RESULT }
}
