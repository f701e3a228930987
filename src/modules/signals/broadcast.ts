/** One message to many, expanded into one durable signal each at the time it is written. */
import { ensureOwnPersona, requireSpeaker, senderOf } from './callers.ts'
import type { SignalParts } from './needs.ts'
import { checkPayload, type Sender } from './send.ts'
import type { BroadcastInput, BroadcastResult } from './service.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Receipt, Route, Signal } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Appended } from '../../ports/signal-store.ts'

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

  const before = storedBefore(needs, speaker.from, input)
  const broadcast_id = (before === null ? null : await broadcastOf(needs, before)) ?? needs.ids.next()
  // From here on nothing is waited for: what is known, who is refused and what is stored go together.
  const from = { ...speaker, now: needs.clock.now() }
  const refused: BroadcastResult['refused'] = []
  const accepted: Accepted[] = []
  const accept = (to: Identity, route: Route) => {
    const key = keyFor(input, to)
    const draft = { ...input, broadcast_id, ...(key === undefined ? {} : { idempotency_key: key }) }
    accepted.push({ signal: sender.compose(to, draft, from), route })
  }
  for (const to of new Set(input.to ?? audience(needs, from.from, input.topic))) {
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
  return { broadcast_id, receipts: await storeTogether(needs, sender, accepted), refused }
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
): SignalId | null {
  const key = keyFor(input, to)
  if (key === undefined) return null
  return needs.store.recall(from, key, new Date(now).toISOString())?.signal_id ?? null
}

/** A signal of the same broadcast, where it was made before; whoever got it then may be wrapped or removed by now. */
function storedBefore(needs: SignalParts, from: Identity, input: BroadcastInput): SignalId | null {
  if (input.idempotency_key === undefined) return null
  const now = needs.clock.now()
  for (const to of input.to ?? needs.personas.everybody()) {
    const first = recall(needs, from, input, to, now)
    if (first !== null) return first
  }
  return null
}

async function broadcastOf({ store }: SignalParts, signal_id: SignalId): Promise<string | null> {
  return (await store.read(signal_id))?.broadcast_id ?? null
}

/** Who listens to the topic, or everybody where there is none; never the sender. */
function audience(needs: SignalParts, sender: Identity, topic: string | undefined): Identity[] {
  if (topic !== undefined) return needs.subscribers(topic).filter((identity) => identity !== sender)
  return needs.personas
    .list()
    .filter((persona) => persona.state === 'active' && persona.identity !== sender)
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
