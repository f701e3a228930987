/** Sends one message to many recipients: one durable signal for each, composed when the broadcast is stored. */
import { createHash } from 'node:crypto'
import { ensureOwnPersona, requireSender, senderOf } from '../lib/caller-guards.ts'
import { checkPayload, type Sender } from './send.ts'
import type { BroadcastInput, BroadcastResult, OperationDeps, SignalService } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { type Identity, type Json, OPERATOR, type SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Receipt, Route, Signal } from '../../contracts/signal.ts'
import type { Appended, SignalStore } from '../../ports/signal-store.ts'

interface Accepted {
  signal: Signal
  route: Route
}

/** Rejected recipients are reported; the signals of the others are stored together or not at all. */
export function createBroadcast(deps: OperationDeps, sender: Sender): SignalService['broadcast'] {
  return async (caller, input) => {
    requireSender(caller, 'broadcast')
    const joining = ensureOwnPersona(deps, caller)
    if (joining !== null) await joining
    const { from, origin } = senderOf(caller, input.from)
    const bytes = checkPayload(input.payload)

    const digest = input.idempotency_key === undefined ? '' : digestOf(input)
    const earlier = findEarlier(deps, from, input)
    if (earlier === null) sender.checkReplyTo(input.reply_to)
    else if (earlier.request_digest !== undefined && earlier.request_digest !== digest)
      throw keyReusedError(from, input, earlier.signal_id)
    const broadcast_id =
      (earlier === null ? null : await broadcastIdOf(deps, earlier.signal_id)) ?? deps.ids.next()
    // No await from here to the append: recalled keys, checks and the append see the same state.
    const now = deps.clock.now()
    const refused: BroadcastResult['refused'] = []
    const accepted: Accepted[] = []
    const accept = (to: Identity, route: Route) => {
      const key = keyFor(input, to)
      const keyed = key === undefined ? {} : { idempotency_key: key, request_digest: digest }
      const draft = { ...input, broadcast_id, ...keyed }
      accepted.push({ signal: sender.compose(to, draft, { from, origin, now }), route })
    }
    for (const to of new Set(input.to ?? recipients(deps, from, input))) {
      try {
        const route = sender.check(to, { require_live: false })
        accept(to, route)
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        // A recipient that has the signal already gets the first receipt, even if it would be rejected now.
        if (recall(deps, from, input, to, now) !== null) accept(to, deps.routes.resolve(to))
        else refused.push({ to, code: error.code, detail: error.detail })
      }
    }
    checkTotalSize(bytes, accepted.length)
    const receipts = await storeAll(deps, sender, accepted)
    return {
      broadcast_id,
      receipts,
      refused,
      ...(receipts.length === 0 ? { note: noRecipientNote(input) } : {}),
    }
  }
}

function noRecipientNote({ to, topic, all_projects }: BroadcastInput): string {
  if (to !== undefined) return 'No recipient was reached: every recipient was rejected.'
  if (topic !== undefined) return 'No recipient was reached: the topic has no other subscriber.'
  if (all_projects === true) return 'No recipient was reached: there is no other persona.'
  return 'No recipient was reached: no other persona belongs to your project. Name recipients in `to`, or set `all_projects`.'
}

/** Digest of the parts that make two broadcasts the same request; the lifetime is not one of them. */
function digestOf(input: BroadcastInput): string {
  const { to, topic, all_projects, intent, payload, priority, reply_to, in_reply_to } = input
  const request = {
    to: to === undefined ? null : [...new Set(to)].sort(),
    topic,
    all_projects: all_projects === true,
    intent,
    payload: sortMembers(payload),
    priority,
    reply_to,
    in_reply_to,
  }
  return createHash('sha256').update(JSON.stringify(request)).digest('hex')
}

/** Sorts the members of every object by name, so that their order does not change the digest. */
function sortMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, member]) => [name, sortMembers(member)]))
}

function keyReusedError(
  from: Identity,
  { idempotency_key: key }: BroadcastInput,
  first: SignalId,
): TurnbellError {
  return new TurnbellError('idempotency_key_reused', {
    detail: `${from} used the idempotency_key ${JSON.stringify(key)} for another broadcast, with signal ${first}.`,
  })
}

function checkTotalSize(bytes: number, recipient_count: number): void {
  if (bytes * recipient_count <= LIMITS.broadcast_bytes_max) return
  throw new TurnbellError('payload_too_large', {
    detail: `The payload has ${bytes} bytes for each of ${recipient_count} recipients; a broadcast carries at most ${LIMITS.broadcast_bytes_max} bytes in total.`,
    hint: 'Write the content to a file or to shared memory and broadcast its location, or name fewer recipients in `to`.',
  })
}

/** Each recipient has an idempotency key of its own. */
function keyFor({ idempotency_key: key }: BroadcastInput, to: Identity): string | undefined {
  return key === undefined ? undefined : `${key}>${to}`
}

function recall(
  deps: OperationDeps,
  from: Identity,
  input: BroadcastInput,
  to: Identity,
  now: number,
): ReturnType<SignalStore['findByKey']> {
  const key = keyFor(input, to)
  return key === undefined ? null : deps.store.findByKey(from, key, new Date(now).toISOString())
}

/** Finds a signal of an earlier broadcast with the same key, whose `to` may differ. */
function findEarlier(
  deps: OperationDeps,
  from: Identity,
  input: BroadcastInput,
): ReturnType<SignalStore['findByKey']> {
  if (input.idempotency_key === undefined) return null
  const now = deps.clock.now()
  for (const to of new Set([...(input.to ?? []), ...deps.personas.identities(), OPERATOR])) {
    const first = recall(deps, from, input, to, now)
    // A single send may have used the same text as its key.
    if (first?.request_digest !== undefined || (first !== null && input.to?.includes(to) !== false))
      return first
  }
  return null
}

async function broadcastIdOf({ store }: OperationDeps, signal_id: SignalId): Promise<string | null> {
  return (await store.read(signal_id))?.broadcast_id ?? null
}

/** Recipients of a broadcast without `to`; never the sender. */
function recipients(deps: OperationDeps, sender: Identity, input: BroadcastInput): Identity[] {
  const { topic, all_projects = false } = input
  if (topic !== undefined) return deps.subscribers(topic).filter((identity) => identity !== sender)
  const project_id = deps.personas.get(sender)?.project_id ?? input.project_id
  return deps.personas
    .list()
    .filter((persona) => persona.state === 'active' && persona.identity !== sender)
    .filter((persona) => all_projects || persona.project_id === project_id)
    .map((persona) => persona.identity)
}

/** A broadcast interrupted by a crash has stored nothing; a repeated one stores only the signals that are missing. */
async function storeAll(deps: OperationDeps, sender: Sender, accepted: Accepted[]): Promise<Receipt[]> {
  if (accepted.length === 0) return []
  const appended = await deps.store.appendAll(accepted.map(({ signal }) => signal))
  return accepted.map(({ signal, route }, index) => {
    const { seq, signal_id, repeated } = appended[index] as Appended
    if (repeated) deps.events.repeated({ signal_id, to: signal.to, from: signal.from })
    else sender.announce(signal, seq)
    return { signal_id, durable: true, seq, status: 'pending', route }
  })
}
