/**
 * Completes signals that their recipient has handled, and sends the result to the persona in `reply_to` as a signal of
 * its own.
 *
 * The reply is stored before the completion, under a key made from the signal's life. A crash between the two leaves the
 * signal leased: it is delivered again and acked again, and the key prevents a second reply.
 */
import { ownSignals } from './owned-signals.ts'
import { checkPayload, type Sender } from './send.ts'
import { ensureOwnPersona, requireSender, sessionOf } from '../lib/caller-guards.ts'
import type { AckOutcome, OperationDeps, SignalService } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { OPERATOR, type Identity, type Json, type SignalId } from '../../contracts/ids.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import { groupBy } from '../lib/group-by.ts'

type Replies = Pick<AckOutcome, 'replied' | 'not_replied'>

interface ReplyDraft {
  signal: SignalView
  reply_to: Identity
}

export function createAck(deps: OperationDeps, sender: Sender): SignalService['ack'] {
  return async (caller, input) => {
    requireSender(caller, 'ack')
    const joining = ensureOwnPersona(deps, caller)
    if (joining !== null) await joining
    if (input.result !== undefined) checkPayload(input.result)

    const { known, unknown } = await ownSignals(deps, caller, input.signal_ids)
    // Every check happens before the first append: all replies of this ack are stored, or the ack is rejected.
    const { drafts, ...checked } = checkReplies(deps, sender, caller, known)
    const sent = await sendReplies(deps, sender, caller, drafts, input.result)

    const outcome: AckOutcome = {
      completed: [],
      already: [],
      unknown,
      replied: [...checked.replied, ...sent],
      not_replied: checked.not_replied,
    }
    for (const [to, signals] of groupBy(known, (signal) => signal.to)) {
      const ids = signals.map((signal) => signal.signal_id)
      const done = await deps.store.complete(to, ids, input.result, timestamp(deps.clock))
      outcome.completed.push(...done.completed)
      outcome.already.push(...done.already)
      outcome.unknown.push(...done.unknown)
      if (done.completed.length === 0) continue
      deps.events.completed({
        to,
        by: caller.kind === 'operator' ? 'operator' : 'agent',
        signal_ids: done.completed,
        waited: done.waited,
        session_id: sessionOf(caller),
        pending_count: deps.store.pendingCount(to),
      })
    }
    return outcome
  }
}

/** Decides for each signal whether a reply is due, exists already or cannot be sent. */
function checkReplies(
  deps: OperationDeps,
  sender: Sender,
  caller: Caller,
  signals: readonly SignalView[],
): Replies & { drafts: ReplyDraft[] } {
  const acked = signals.filter(({ status }) => status !== 'completed' && status !== 'cancelled')
  const replied: AckOutcome['replied'] = []
  const not_replied = acked
    .filter((signal) => signal.reply_to === undefined)
    .map(({ signal_id }) => ({ signal_id, reason: 'no_reply_to' }))
  const drafts: ReplyDraft[] = []
  for (const signal of acked) {
    const { reply_to, signal_id } = signal
    if (reply_to === undefined) continue
    const existing = existingReply(deps, signal)
    if (existing !== null) {
      deps.events.repeated({ ...existing, to: reply_to })
      replied.push({ signal_id, to: reply_to, reply_id: existing.signal_id })
      continue
    }
    if (caller.kind === 'operator' && reply_to === OPERATOR) {
      not_replied.push({ signal_id, reason: 'reply_to_self' })
      continue
    }
    try {
      const uncounted = drafts.filter((draft) => draft.reply_to === reply_to).length
      sender.check(reply_to, { require_live: false, uncounted })
      drafts.push({ signal, reply_to })
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      // The operator's full queue must not block an agent's ack.
      if (error.code === 'queue_full' && reply_to !== OPERATOR) throw error
      not_replied.push({ signal_id, reason: error.code })
      deps.events.replyRefused({ signal_id, reply_to, code: error.code })
    }
  }
  return { drafts, replied, not_replied }
}

function sendReplies(
  deps: OperationDeps,
  sender: Sender,
  caller: Caller,
  drafts: readonly ReplyDraft[],
  result: Json | undefined,
): Promise<AckOutcome['replied']> {
  const from =
    caller.kind === 'operator'
      ? ({ from: OPERATOR, origin: 'human' } as const)
      : ({ from: caller.identity, origin: 'agent' } as const)
  return Promise.all(
    drafts.map(async ({ signal, reply_to }) => {
      const reply = sender.compose(
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
      const { seq, signal_id, repeated } = await deps.store.append(reply)
      if (repeated) deps.events.repeated({ signal_id, to: reply.to, from: reply.from })
      else sender.announce(reply, seq)
      return { signal_id: signal.signal_id, to: reply_to, reply_id: signal_id }
    }),
  )
}

/** A replayed signal has another `expires_at`, and gets another reply. */
function replyKey({ signal_id, expires_at }: SignalView): string {
  return `reply:${signal_id}:${expires_at}`
}

/**
 * Finds the reply that this life of the signal has already; it may not be durable yet. Looks under both possible senders,
 * because the agent and the operator may ack and each has its own keys.
 */
function existingReply(
  { store }: OperationDeps,
  signal: SignalView,
): { signal_id: SignalId; from: Identity } | null {
  for (const from of [signal.to, OPERATOR]) {
    const first = store.findByKey(from, replyKey(signal))
    if (first !== null) return { signal_id: first.signal_id, from }
  }
  return null
}
