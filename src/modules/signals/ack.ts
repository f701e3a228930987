/**
 * The recipient says that signals are handled. Where the sender waits for an answer, the persona in
 * `reply_to` gets it as a signal of its own.
 *
 * The reply is stored before the completion, under a key made from the signal's life. A crash between the two
 * leaves the signal leased: it comes back, is acked again, and the key keeps the reply from being sent twice.
 */
import { checkPayload, type Sender } from './send.ts'
import { ensureOwnPersona, requireSpeaker, sessionOf } from './callers.ts'
import { groupBy } from './leases.ts'
import type { SignalParts } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { OPERATOR, type Identity, type Json, type SignalId } from '../../contracts/ids.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'

export interface AckInput {
  signal_ids: SignalId[]
  result?: Json | undefined
}

export interface AckOutcome {
  completed: SignalId[]
  already: SignalId[]
  /** Not the caller's, cancelled by its sender, or forgotten. */
  unknown: SignalId[]
  /** Answers that are stored for the persona in `reply_to`, under `reply_id`. */
  replied: { signal_id: SignalId; to: Identity; reply_id: SignalId }[]
  /**
   * Signals of this ack without a reply, with the reason: `no_reply_to`, `reply_to_self` where the operator acks a signal
   * whose reply goes to the operator, or the code with which `reply_to` was refused. `signals read` shows the result.
   */
  not_replied: { signal_id: SignalId; reason: string }[]
}

export async function ack(
  needs: SignalParts,
  sender: Sender,
  caller: Caller,
  input: AckInput,
): Promise<AckOutcome> {
  requireSpeaker(caller, 'ack')
  const joining = ensureOwnPersona(needs, caller)
  if (joining !== null) await joining
  if (input.result !== undefined) checkPayload(input.result)

  const { known, unknown } = await ownSignals(needs, caller, input.signal_ids)
  const replies = await reply(needs, sender, caller, known, input.result)

  const outcome: AckOutcome = { completed: [], already: [], unknown, ...replies }
  for (const [to, signals] of groupBy(known, (signal) => signal.to)) {
    const ids = signals.map((signal) => signal.signal_id)
    const done = await needs.store.complete(to, ids, input.result, timestamp(needs.clock))
    outcome.completed.push(...done.completed)
    outcome.already.push(...done.already)
    outcome.unknown.push(...done.unknown)
    if (done.completed.length === 0) continue
    needs.events.completed({
      to,
      by: caller.kind === 'operator' ? 'operator' : 'agent',
      signal_ids: done.completed,
      waited: done.waited,
      session_id: sessionOf(caller),
      pending_count: needs.store.pendingCount(to),
    })
  }
  return outcome
}

/** The operator may act on every queue, an agent on its own; what is another's is as unknown as what is not there. */
export async function ownSignals(
  needs: SignalParts,
  caller: Caller,
  signal_ids: readonly SignalId[],
  mine: (signal: SignalView) => boolean = (signal) => signal.to === caller.identity,
): Promise<{ known: SignalView[]; unknown: SignalId[] }> {
  const ids = [...new Set(signal_ids)]
  const views = await Promise.all(ids.map((id) => needs.store.read(id)))
  const known = views.filter(
    (view): view is SignalView => view !== null && (caller.kind === 'operator' || mine(view)),
  )
  const found = new Set(known.map((view) => view.signal_id))
  return { known, unknown: ids.filter((id) => !found.has(id)) }
}

async function reply(
  needs: SignalParts,
  sender: Sender,
  caller: Caller,
  signals: readonly SignalView[],
  result: Json | undefined,
): Promise<Pick<AckOutcome, 'replied' | 'not_replied'>> {
  const acked = signals.filter(({ status }) => status !== 'completed' && status !== 'cancelled')
  const waiting = acked.filter((signal) => signal.reply_to !== undefined)
  const replied: AckOutcome['replied'] = []
  const not_replied = acked
    .filter((signal) => signal.reply_to === undefined)
    .map(({ signal_id }) => ({ signal_id, reason: 'no_reply_to' }))
  const deliverable: { signal: SignalView; reply_to: Identity }[] = []
  // Every refusal before the first append: either all replies of this ack are stored, or it is refused whole.
  for (const signal of waiting) {
    const reply_to = signal.reply_to as Identity
    // A key is its sender's, and both the agent and the operator may ack.
    const first = replyBefore(needs, signal)
    if (first !== null) {
      needs.events.repeated({ ...first, to: reply_to })
      replied.push({ signal_id: signal.signal_id, to: reply_to, reply_id: first.signal_id })
      continue
    }
    if (caller.kind === 'operator' && reply_to === OPERATOR) {
      not_replied.push({ signal_id: signal.signal_id, reason: 'reply_to_self' })
      continue
    }
    try {
      const beside = deliverable.filter((one) => one.reply_to === reply_to).length
      sender.check(reply_to, { require_live: false, beside })
      deliverable.push({ signal, reply_to })
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      // An agent must not be kept from its work because the person reads no mail.
      if (error.code === 'queue_full' && reply_to !== OPERATOR) throw error
      not_replied.push({ signal_id: signal.signal_id, reason: error.code })
      needs.events.replyRefused({ signal_id: signal.signal_id, reply_to, code: error.code })
    }
  }
  const from =
    caller.kind === 'operator'
      ? ({ from: OPERATOR, origin: 'human' } as const)
      : ({ from: caller.identity, origin: 'agent' } as const)
  const sent = await Promise.all(
    deliverable.map(async ({ signal, reply_to }) => {
      const answer = sender.compose(
        reply_to,
        {
          intent: 'reply',
          payload: result ?? null,
          priority: signal.priority,
          in_reply_to: signal.signal_id,
          idempotency_key: replyKey(signal),
          ...(signal.topic === undefined ? {} : { topic: signal.topic }),
        },
        from,
      )
      const { seq, signal_id, repeated } = await needs.store.append(answer)
      if (repeated) needs.events.repeated({ signal_id, to: answer.to, from: answer.from })
      else sender.announce(answer, seq)
      return { signal_id: signal.signal_id, to: reply_to, reply_id: signal_id }
    }),
  )
  return { replied: [...replied, ...sent], not_replied }
}

/** A signal that was replayed has another end, and is answered anew. */
function replyKey({ signal_id, expires_at }: SignalView): string {
  return `reply:${signal_id}:${expires_at}`
}

/** The reply that this life of the signal has already, whoever sent it; it may be on its way to the disk still. */
function replyBefore(
  { store }: SignalParts,
  signal: SignalView,
): { signal_id: SignalId; from: Identity } | null {
  for (const from of [signal.to, OPERATOR]) {
    const first = store.recall(from, replyKey(signal))
    if (first !== null) return { signal_id: first.signal_id, from }
  }
  return null
}
