/**
 * Accepts signals. Everything that can refuse a send is looked at before the store is asked, so a
 * refusal leaves nothing behind; the receipt and the push leave only after the bytes are on disk.
 */
import { ensureOwnPersona, requireSpeaker, senderOf } from './callers.ts'
import type { SignalNeeds, SignalParts } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { OPERATOR, type Identity, type Json } from '../../contracts/ids.ts'
import { isDeeper } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nearest } from '../../contracts/names.ts'
import type { Receipt, Route, SendInput, Signal } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'

/** What every kind of send shares: who it is from, and what it says. */
export interface Draft extends Omit<SendInput, 'to' | 'require_live'> {
  broadcast_id?: string
  request_digest?: string
}

/** Who says it, and when: at the time of the call, where that is not said. */
export interface Saying {
  from: Identity
  origin: Signal['origin']
  now?: number
}

export interface Sender {
  send(caller: Caller, input: SendInput): Promise<Receipt>
  /**
   * Throws what refuses this recipient; answers its route otherwise. The store counts a signal from the
   * call of `append` on, so the bound holds as long as nothing is awaited between the two.
   */
  check(
    to: Identity,
    options: { require_live: boolean; to_session?: string | undefined; beside?: number },
  ): Route
  compose(to: Identity, draft: Draft, sender: Saying): Signal
  /** Throws `target_unknown` or `target_wrapped` for a `reply_to` that could not get an answer. */
  checkReplyTo(reply_to: Identity | undefined): void
  announce(signal: Signal, seq: number): void
}

/** Tells the hub of a new signal that is durable. */
export function announce({ store, events }: SignalNeeds, signal: Signal, seq: number): void {
  const { signal_id, to, from, intent, priority, to_session } = signal
  events.pushed({
    ...{ signal_id, seq, to, from, intent, priority },
    ...(to_session === undefined ? {} : { to_session }),
    pending_count: store.pendingCount(to),
  })
}

export function createSender(needs: SignalParts): Sender {
  const { store, clock, ids, events, routes } = needs
  const checkAddressee = (identity: Identity, field: string) => {
    if (identity === OPERATOR) return
    const persona = needs.personas.get(identity)
    if (persona === null) throw unknownPersona(needs, identity, field)
    if (persona.state !== 'active') {
      throw new TurnbellError('target_wrapped', { detail: `${field}${identity} is ${persona.state}.` })
    }
  }
  const checkReplyTo: Sender['checkReplyTo'] = (reply_to) => {
    if (reply_to !== undefined) checkAddressee(reply_to, 'reply_to: ')
  }

  const check: Sender['check'] = (to, { require_live, to_session, beside = 0 }) => {
    checkAddressee(to, '')
    if (to_session !== undefined && !needs.sessions(to).includes(to_session)) {
      throw new TurnbellError('target_stale', {
        detail: `${to} has no live session ${to_session}: ${routes.describe(to)}`,
      })
    }
    const route = routes.resolve(to)
    if (require_live && !route.live) {
      throw new TurnbellError('target_not_routable', {
        detail: `${to} has no live route (${route.reason ?? 'unknown'}): ${routes.describe(to)}`,
      })
    }
    if (store.pendingCount(to) + beside >= LIMITS.queue_depth_max) {
      throw new TurnbellError('queue_full', {
        detail: `${to} has ${LIMITS.queue_depth_max} signals waiting, which is the most it may have.`,
      })
    }
    return route
  }

  const compose: Sender['compose'] = (to, draft, sender) => {
    const { intent, payload, priority } = draft
    const { from, origin, now = clock.now() } = sender
    const created_at = timestamp({ now: () => now })
    const ttl_s = draft.ttl_s ?? ttlOf(needs, to, sender)
    const expires_at = new Date(now + ttl_s * 1000).toISOString()
    // What every signal has at once, and the rest added: what is spread piece by piece costs many times as much.
    const signal_id = ids.next()
    const signal: Signal = { signal_id, to, from, origin, intent, payload, priority, created_at, expires_at }
    if (draft.topic !== undefined) signal.topic = draft.topic
    if (draft.reply_to !== undefined) signal.reply_to = draft.reply_to
    if (draft.in_reply_to !== undefined) signal.in_reply_to = draft.in_reply_to
    if (draft.to_session !== undefined) signal.to_session = draft.to_session
    if (draft.broadcast_id !== undefined) signal.broadcast_id = draft.broadcast_id
    if (draft.idempotency_key !== undefined) signal.idempotency_key = draft.idempotency_key
    if (draft.request_digest !== undefined) signal.request_digest = draft.request_digest
    return signal
  }

  const send = async (caller: Caller, input: SendInput): Promise<Receipt> => {
    requireSpeaker(caller, 'send')
    const joining = ensureOwnPersona(needs, caller)
    if (joining !== null) await joining
    // One time for both: a key whose day ends in between would be known to the one and not to the other.
    const sender = { ...senderOf(caller, input.from), now: clock.now() }
    checkPayload(input.payload)
    const { idempotency_key: key } = input
    // A key that is known answers with its first receipt, whatever has become of the persona since.
    const first =
      key === undefined ? null : store.recall(sender.from, key, new Date(sender.now).toISOString())
    const route = first === null ? check(input.to, input) : routes.resolve(input.to)
    if (first === null) checkReplyTo(input.reply_to)
    const signal = compose(input.to, input, sender)
    const { seq, signal_id, repeated } = await store.append(signal)
    if (repeated) events.repeated({ signal_id, to: signal.to, from: signal.from })
    else announce(needs, signal, seq)
    return { signal_id, durable: true, seq, status: 'pending', route }
  }

  return { send, check, checkReplyTo, compose, announce: (signal, seq) => announce(needs, signal, seq) }
}

function unknownPersona({ personas }: SignalNeeds, identity: Identity, field: string): TurnbellError {
  const known = personas.list().flatMap((persona) => (persona.state === 'active' ? [persona.identity] : []))
  const meant = nearest(identity, [...known, OPERATOR])
  return new TurnbellError('target_unknown', {
    detail: `${field}No persona is called ${identity}.`,
    ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
  })
}

/** A person may read it days later; an agent's words age sooner. */
function ttlOf({ ttl_s }: SignalNeeds, to: Identity, { origin }: Saying): number {
  if (origin === 'human' || to === OPERATOR) return LIMITS.ttl_s_max
  return ttl_s ?? LIMITS.ttl_s_default
}

/**
 * Measured as it is stored: answers the UTF-8 bytes of its JSON. Throws `payload_too_large`, and `params_invalid` for one
 * that is nested too deep: it would be accepted here, and refused by whoever reads it.
 */
export function checkPayload(payload: Json): number {
  if (isDeeper(payload, LIMITS.payload_depth_max)) {
    throw new TurnbellError('params_invalid', {
      detail: `The payload is nested more than ${LIMITS.payload_depth_max} deep.`,
      hint: 'Send the inner part as a text.',
    })
  }
  const bytes = Buffer.byteLength(JSON.stringify(payload))
  if (bytes <= LIMITS.payload_bytes_max) return bytes
  throw new TurnbellError('payload_too_large', {
    detail: `The payload has ${bytes} bytes; a signal carries at most ${LIMITS.payload_bytes_max}.`,
  })
}
