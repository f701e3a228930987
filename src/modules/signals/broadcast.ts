/** One message to many, expanded into one durable signal each at the time it is written. */
import { ensureOwnPersona, requireSpeaker, senderOf } from './callers.ts'
import type { SignalParts } from './needs.ts'
import { checkPayload, type Sender } from './send.ts'
import type { BroadcastInput, BroadcastResult } from './service.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
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
  const from = senderOf(caller, input.from)
  checkPayload(input.payload)

  const broadcast_id = needs.ids.next()
  const refused: BroadcastResult['refused'] = []
  const accepted: Accepted[] = []
  for (const to of new Set(input.to ?? audience(needs, from.from, input.topic))) {
    try {
      const route = sender.check(to, { require_live: false })
      const key = input.idempotency_key
      const draft = {
        ...input,
        broadcast_id,
        ...(key === undefined ? {} : { idempotency_key: `${key}>${to}` }),
      }
      accepted.push({ signal: sender.compose(to, draft, from), route })
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      refused.push({ to, code: error.code, detail: error.detail })
    }
  }
  const receipts = await storeTogether(needs, sender, accepted)
  return { broadcast_id: await firstBroadcastId(needs, receipts, broadcast_id), receipts, refused }
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

/** A repeated broadcast answers with the id of the first. */
async function firstBroadcastId(needs: SignalParts, receipts: Receipt[], made: string): Promise<string> {
  const [first] = receipts
  if (first === undefined) return made
  return (await needs.store.read(first.signal_id))?.broadcast_id ?? made
}
