/** One message to many, expanded into one durable signal each at the time it is written. */
import { createHash } from 'node:crypto'
import { ensureOwnPersona, requireSpeaker, senderOf } from './callers.ts'
import type { SignalParts } from './needs.ts'
import { checkPayload, type Sender } from './send.ts'
import type { BroadcastInput, BroadcastResult } from './service.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { type Identity, type Json, OPERATOR, type SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Receipt, Route, Signal } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Appended, SignalStore } from '../../ports/signal-store.ts'

interface Accepted {
  signal: Signal
  route: Route
}

/** Recipients that refuse are reported, the others get theirs: all of those, or none. */
export async function broadcast(
  needs: SignalParts,
  sender: Sender,
  caller: Caller,
  input: BroadcastInput,
): Promise<BroadcastResult> {
  requireSpeaker(caller, 'broadcast')
  const joining = ensureOwnPersona(needs, caller)
  if (joining !== null) await joining
  const speaker = senderOf(caller, input.from)
  const bytes = checkPayload(input.payload)

  const digest = input.idempotency_key === undefined ? '' : digestOf(input)
  const before = storedBefore(needs, speaker.from, input)
  if (before === null) sender.checkReplyTo(input.reply_to)
  else if (before.request_digest !== undefined && before.request_digest !== digest)
    throw reused(speaker.from, input, before.signal_id)
  const broadcast_id =
    (before === null ? null : await broadcastOf(needs, before.signal_id)) ?? needs.ids.next()
  // From here on nothing is waited for: what is known, who is refused and what is stored go together.
  const from = { ...speaker, now: needs.clock.now() }
  const refused: BroadcastResult['refused'] = []
  const accepted: Accepted[] = []
  const accept = (to: Identity, route: Route) => {
    const key = keyFor(input, to)
    const keyed = key === undefined ? {} : { idempotency_key: key, request_digest: digest }
    const draft = { ...input, broadcast_id, ...keyed }
    accepted.push({ signal: sender.compose(to, draft, from), route })
  }
  for (const to of new Set(input.to ?? audience(needs, from.from, input))) {
    try {
      const route = sender.check(to, { require_live: false })
      accept(to, route)
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      // Who has it already is answered as the first time, whatever has become of it since.
      if (recall(needs, from.from, input, to, from.now) !== null) accept(to, needs.routes.resolve(to))
      else refused.push({ to, code: error.code, detail: error.detail })
    }
  }
  checkTogether(bytes, accepted.length)
  const receipts = await storeTogether(needs, sender, accepted)
  return { broadcast_id, receipts, refused, ...(receipts.length === 0 ? { note: whyNobody(input) } : {}) }
}

function whyNobody({ to, topic, all_projects }: BroadcastInput): string {
  if (to !== undefined) return 'Nobody was reached: every recipient was refused.'
  if (topic !== undefined) return 'Nobody was reached: the topic has no other subscriber.'
  if (all_projects === true) return 'Nobody was reached: there is no other persona.'
  return 'Nobody was reached: no other persona belongs to your project. Name recipients in `to`, or set `all_projects`.'
}

/** What makes two broadcasts the same request; its lifetime is not part of it. */
function digestOf(input: BroadcastInput): string {
  const { to, topic, all_projects, intent, payload, priority, reply_to, in_reply_to } = input
  const request = {
    ...{ to: to === undefined ? null : [...new Set(to)].sort(), topic, all_projects: all_projects === true },
    ...{ intent, payload: inOrder(payload), priority, reply_to, in_reply_to },
  }
  return createHash('sha256').update(JSON.stringify(request)).digest('hex')
}

/** The order of an object's members means nothing. */
function inOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, member]) => [name, inOrder(member)]))
}

function reused(from: Identity, { idempotency_key: key }: BroadcastInput, first: SignalId): TurnbellError {
  return new TurnbellError('idempotency_key_reused', {
    detail: `The idempotency_key ${JSON.stringify(key)} was used by ${from} for a broadcast with signal ${first}; this request is another one.`,
  })
}

function checkTogether(bytes: number, recipients: number): void {
  if (bytes * recipients <= LIMITS.broadcast_bytes_max) return
  throw new TurnbellError('payload_too_large', {
    detail: `The payload has ${bytes} bytes, for each of ${recipients} recipients; together a broadcast carries at most ${LIMITS.broadcast_bytes_max}.`,
    hint: 'Write the content to a file or to shared memory and broadcast where it is, or name fewer recipients in `to`.',
  })
}

/** Each recipient has a key of its own. */
function keyFor({ idempotency_key: key }: BroadcastInput, to: Identity): string | undefined {
  return key === undefined ? undefined : `${key}>${to}`
}

function recall(
  needs: SignalParts,
  from: Identity,
  input: BroadcastInput,
  to: Identity,
  now: number,
): ReturnType<SignalStore['recall']> {
  const key = keyFor(input, to)
  return key === undefined ? null : needs.store.recall(from, key, new Date(now).toISOString())
}

/** A signal of the same broadcast, if it was made before, whoever is named in `to` this time. */
function storedBefore(
  needs: SignalParts,
  from: Identity,
  input: BroadcastInput,
): ReturnType<SignalStore['recall']> {
  if (input.idempotency_key === undefined) return null
  const now = needs.clock.now()
  for (const to of new Set([...(input.to ?? []), ...needs.personas.everybody(), OPERATOR])) {
    const first = recall(needs, from, input, to, now)
    // A single send may have used the same text as its key.
    if (first?.request_digest !== undefined || (first !== null && input.to?.includes(to) !== false))
      return first
  }
  return null
}

async function broadcastOf({ store }: SignalParts, signal_id: SignalId): Promise<string | null> {
  return (await store.read(signal_id))?.broadcast_id ?? null
}

/** Never the sender. */
function audience(needs: SignalParts, sender: Identity, input: BroadcastInput): Identity[] {
  const { topic, all_projects = false } = input
  if (topic !== undefined) return needs.subscribers(topic).filter((identity) => identity !== sender)
  const project_id = needs.personas.get(sender)?.project_id ?? input.project_id
  return needs.personas
    .list()
    .filter((persona) => persona.state === 'active' && persona.identity !== sender)
    .filter((persona) => all_projects || persona.project_id === project_id)
    .map((persona) => persona.identity)
}

/** With a key, too: a broadcast that was cut off reached nobody, and one that is repeated stores what it has not yet. */
async function storeTogether(needs: SignalParts, sender: Sender, accepted: Accepted[]): Promise<Receipt[]> {
  if (accepted.length === 0) return []
  const appended = await needs.store.appendAll(accepted.map(({ signal }) => signal))
  return accepted.map(({ signal, route }, index) => {
    const { seq, signal_id, repeated } = appended[index] as Appended
    if (repeated) needs.events.repeated({ signal_id, to: signal.to, from: signal.from })
    else sender.announce(signal, seq)
    return { signal_id, durable: true, seq, status: 'pending', route }
  })
}
