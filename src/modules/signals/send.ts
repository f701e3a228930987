/**
 * Accepts signals. Every reason to reject a send is checked before the store is called, so a rejected send stores
 * nothing; the receipt and the push leave only after the bytes are on disk.
 */
import { ensureOwnPersona, requireSender, senderOf } from '../lib/caller-guards.ts'
import { defined } from '../lib/defined.ts'
import type { OperationDeps, SignalDeps } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { OPERATOR, type Identity, type Json } from '../../contracts/ids.ts'
import { isDeeper } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { nearest } from '../../contracts/text/names.ts'
import type { Receipt, Route, SendInput, Signal } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'

/** Content of a signal, as every kind of send composes it. */
export interface Draft extends Omit<SendInput, 'to' | 'require_live'> {
  broadcast_id?: string
  request_digest?: string
}

/** Sender of a signal, and the time of sending; the time of the call where `now` is absent. */
export interface SenderInfo {
  from: Identity
  origin: Signal['origin']
  now?: number
}

export interface Sender {
  send: (caller: Caller, input: SendInput) => Promise<Receipt>
  /**
   * Returns the recipient's route, or throws the reason why it is rejected. The store counts a signal from the call of
   * `append` on, so the queue bound holds if nothing is awaited between the two. `uncounted` is the number of signals
   * that this call has accepted for the recipient and not yet appended.
   */
  check: (
    to: Identity,
    options: { require_live: boolean; to_session?: string | undefined; uncounted?: number },
  ) => Route
  compose: (to: Identity, draft: Draft, sender: SenderInfo) => Signal
  /** Throws `target_unknown` or `target_wrapped` for a `reply_to` that cannot receive a reply. */
  checkReplyTo: (reply_to: Identity | undefined) => void
  announce: (signal: Signal, seq: number) => void
}

/** Publishes a new signal that is durable. */
export function announce({ store, events }: SignalDeps, signal: Signal, seq: number): void {
  const { signal_id, to, from, intent, priority, to_session } = signal
  const push = { signal_id, seq, to, from, intent, priority, pending_count: store.pendingCount(to) }
  events.pushed(to_session === undefined ? push : { ...push, to_session })
}

export function createSender(deps: OperationDeps): Sender {
  const { store, clock, events, routes } = deps
  const checkReplyTo: Sender['checkReplyTo'] = (reply_to) => {
    if (reply_to !== undefined) checkAddressee(deps, reply_to, 'reply_to: ')
  }
  const check: Sender['check'] = (to, options) => checkRecipient(deps, to, options)
  const compose: Sender['compose'] = (to, draft, sender) => composeSignal(deps, to, draft, sender)

  const send = async (caller: Caller, input: SendInput): Promise<Receipt> => {
    requireSender(caller, 'send')
    const joining = ensureOwnPersona(deps, caller)
    if (joining !== null) await joining
    // One time for the lookup and the append: an idempotency key may expire between two readings of the clock.
    const sender = { ...senderOf(caller, input.from), now: clock.now() }
    checkPayload(input.payload)
    const { idempotency_key: key } = input
    // A known key returns its first receipt, even if the persona was wrapped after the first send.
    const first =
      key === undefined ? null : store.findByKey(sender.from, key, new Date(sender.now).toISOString())
    const route = first === null ? check(input.to, input) : routes.resolve(input.to)
    if (first === null) checkReplyTo(input.reply_to)
    const signal = compose(input.to, input, sender)
    const { seq, signal_id, repeated } = await store.append(signal)
    if (repeated) events.repeated({ signal_id, to: signal.to, from: signal.from })
    else announce(deps, signal, seq)
    return { signal_id, durable: true, seq, status: 'pending', route }
  }

  return { send, check, checkReplyTo, compose, announce: (signal, seq) => announce(deps, signal, seq) }
}

function checkAddressee(deps: OperationDeps, identity: Identity, field: string): void {
  if (identity === OPERATOR) return
  const persona = deps.personas.get(identity)
  if (persona === null) throw unknownPersona(deps, identity, field)
  if (persona.state !== 'active') {
    throw new TurnbellError('target_wrapped', { detail: `${field}${identity} is ${persona.state}.` })
  }
}

function checkRecipient(
  deps: OperationDeps,
  to: Identity,
  { require_live, to_session, uncounted = 0 }: Parameters<Sender['check']>[1],
): Route {
  const { store, routes } = deps
  checkAddressee(deps, to, '')
  if (to_session !== undefined && !deps.sessions(to).includes(to_session)) {
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
  if (store.pendingCount(to) + uncounted >= LIMITS.queue_depth_max) {
    throw new TurnbellError('queue_full', {
      detail: `${to} has ${LIMITS.queue_depth_max} pending signals, the maximum.`,
    })
  }
  return route
}

function composeSignal(deps: OperationDeps, to: Identity, draft: Draft, sender: SenderInfo): Signal {
  const { intent, payload, priority } = draft
  const { from, origin, now = deps.clock.now() } = sender
  const created_at = timestamp({ now: () => now })
  const ttl_s = draft.ttl_s ?? ttlOf(deps, to, sender)
  const expires_at = new Date(now + ttl_s * 1000).toISOString()
  const signal_id = deps.ids.next()
  const signal: Signal = { signal_id, to, from, origin, intent, payload, priority, created_at, expires_at }
  // Assigned one by one because this path is hot and spreads of single members are many times slower.
  if (draft.topic !== undefined) signal.topic = draft.topic
  if (draft.reply_to !== undefined) signal.reply_to = draft.reply_to
  if (draft.in_reply_to !== undefined) signal.in_reply_to = draft.in_reply_to
  if (draft.to_session !== undefined) signal.to_session = draft.to_session
  if (draft.broadcast_id !== undefined) signal.broadcast_id = draft.broadcast_id
  if (draft.idempotency_key !== undefined) signal.idempotency_key = draft.idempotency_key
  if (draft.request_digest !== undefined) signal.request_digest = draft.request_digest
  return signal
}

function unknownPersona({ personas }: SignalDeps, identity: Identity, field: string): TurnbellError {
  const active = personas.list().flatMap((persona) => (persona.state === 'active' ? [persona.identity] : []))
  const suggestion = nearest(identity, [...active, OPERATOR])
  return new TurnbellError('target_unknown', {
    detail: `${field}There is no persona ${identity}.`,
    ...defined({ hint: suggestion === null ? undefined : `Did you mean ${suggestion}?` }),
  })
}

/** Lifetime of a signal sent without `ttl_s`; the longest one to and from people, who may read it days later. */
function ttlOf({ ttl_s }: SignalDeps, to: Identity, { origin }: SenderInfo): number {
  if (origin === 'human' || to === OPERATOR) return LIMITS.ttl_s_max
  return ttl_s ?? LIMITS.ttl_s_default
}

/**
 * Returns the payload's size as stored, in UTF-8 bytes of its JSON. Throws `payload_too_large`, and `params_invalid` for
 * a payload nested so deeply that its readers would reject it.
 */
export function checkPayload(payload: Json): number {
  if (isDeeper(payload, LIMITS.payload_depth_max)) {
    throw new TurnbellError('params_invalid', {
      detail: `The payload is nested more than ${LIMITS.payload_depth_max} levels deep.`,
      hint: 'Send the inner part as a string.',
    })
  }
  const bytes = Buffer.byteLength(JSON.stringify(payload))
  if (bytes <= LIMITS.payload_bytes_max) return bytes
  throw new TurnbellError('payload_too_large', {
    detail: `The payload has ${bytes} bytes; a signal carries at most ${LIMITS.payload_bytes_max}.`,
  })
}
