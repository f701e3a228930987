/** Signals: durable messages between personas. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { DRAIN_OLD_NAMES } from '../contracts/drain-calls.ts'
import { Identity, Json, SessionId, SignalId, Ulid } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { withPart } from '../contracts/signal-parts.ts'
import { DrainInput, DrainResult, Receipt, SendInput, SignalStatus, SignalView } from '../contracts/signal.ts'

const SignalIds = z.array(SignalId).min(1).max(LIMITS.ack_batch_max)
const INBOX_LIMIT_DEFAULT = 20

/** Caps `max_tokens` at what the client displays untruncated, scaled by the requested `limit`. */
function limitToDisplay(params: Record<string, unknown>): Record<string, unknown> {
  const limit = numberIn(params['limit'] ?? LIMITS.drain_limit_default)
  const max_tokens = numberIn(params['max_tokens'] ?? undefined)
  if (typeof limit !== 'number' || (max_tokens !== undefined && typeof max_tokens !== 'number')) return params
  const few = LIMITS.drain_tokens_shown
  const shown = Math.max(few, Math.round((few * limit) / LIMITS.drain_limit_default))
  return { ...params, max_tokens: Math.min(max_tokens ?? shown, LIMITS.drain_tokens_shown_max) }
}

/** Converts a number in text, because small models write numbers as text. */
function numberIn(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
}

function partOf(view: SignalView, part: number | undefined): SignalView {
  if (part === undefined) return view
  const shown = withPart(view, part)
  if (shown !== null) return shown
  throw new TurnbellError('params_invalid', {
    detail: `params.part: signal ${view.signal_id} has no part ${part}`,
  })
}

export const signals = defineFacade({
  name: 'signals',
  summary: 'Send signals to personas, list your own, mark them as handled.',
  compact: 'Messages.',
  agent_hint:
    'When a drained signal is handled, call `signals` with action `ack` and its `signal_ids`; if it has a `reply_to`, put the answer in `result`, and it is sent there. What you cannot do now: action `release`. To write to somebody: action `send` with `to`, `intent`, `payload`.',
  facet: 'core',
  listed: true,
  actions: {
    pending: defineAction({
      summary: 'Drain your pending signals.',
      own_tool: {
        description:
          'Take the signals that wait for you, highest priority first. Call it once when a doorbell says that signals wait, ' +
          'or at the start of a task when you have not looked for a while. Taking them is the receipt: ' +
          'they will not be shown again unless this session is lost. If `remaining` is above 0, call again.',
        meta: {
          'anthropic/alwaysLoad': true,
          'anthropic/maxResultSizeChars': LIMITS.drain_characters_shown,
        },
        meant: limitToDisplay,
      },
      mutates: true,
      harmless: ({ peek, confirm }) => peek && confirm === undefined,
      hands_over: true,
      aliases: DRAIN_OLD_NAMES,
      input: DrainInput,
      output: DrainResult,
      errors: ['kind_forbidden', 'persona_wrapped', 'binding_stale', 'store_unavailable'],
      allow: ['agent'],
      examples: [{}, { limit: 5, peek: true }],
      handle: (input, { modules: { signals }, caller, answer }) => signals.drain(caller, input, answer),
    }),

    send: defineAction({
      summary: 'Send one durable signal: {to, intent, payload?, priority? 0-9, reply_to?, ttl_s?}.',
      mutates: true,
      aliases: ['prism_signal', 'coord_send', 'coordinator_send'],
      input: SendInput,
      output: Receipt,
      errors: [
        'kind_forbidden',
        'identity_mismatch',
        'persona_wrapped',
        'target_unknown',
        'target_wrapped',
        'target_stale',
        'target_not_routable',
        'payload_too_large',
        'queue_full',
        'idempotency_key_reused',
        'store_unavailable',
      ],
      allow: ['agent'],
      examples: [
        { to: 'bob', intent: 'review.request', payload: { branch: 'fix-login' }, reply_to: 'alice' },
      ],
      handle: (input, { modules: { signals }, caller }) => signals.send(caller, input),
    }),

    broadcast: defineAction({
      summary:
        'Send a signal to several personas, a topic or your project: {to?: [], topic?, all_projects?, intent, payload?}.',
      mutates: true,
      input: SendInput.omit({ to: true, to_session: true, require_live: true }).extend({
        /** Default: the subscribers of `topic`; without a topic, the active personas of the sender's project. */
        to: z.array(Identity).min(1).max(LIMITS.personas_max).optional(),
        /** Without `to` and `topic`: the personas of every project. */
        all_projects: z.boolean().default(false),
      }),
      output: z.object({
        broadcast_id: Ulid,
        receipts: z.array(Receipt),
        refused: z.array(z.object({ to: Identity, code: z.string(), detail: z.string() })),
        /** Present if no persona was reached. */
        note: z.string().optional(),
      }),
      errors: [
        'kind_forbidden',
        'identity_mismatch',
        'persona_wrapped',
        'target_unknown',
        'target_wrapped',
        'payload_too_large',
        'idempotency_key_reused',
        'store_unavailable',
      ],
      allow: ['agent'],
      examples: [{ intent: 'status.changed', payload: 'main is green again', priority: 0 }],
      handle: (input, { modules: { signals, projects }, caller, context: { scope } }) => {
        const project_id = scope === null ? undefined : projects.resolve(scope).project?.project_id
        return signals.broadcast(caller, { ...input, project_id })
      },
    }),

    inbox: defineAction({
      summary:
        'List your signals without draining them, newest first: {status?: [], from?, before_seq?, limit?}.',
      mutates: false,
      aliases: ['coord_inbox', 'coordinator_inbox'].map((name) => ({ name, params: inboxParams })),
      input: z.strictObject({
        /** The operator may name any persona, other callers only themselves. */
        to: Identity.optional(),
        status: z.array(SignalStatus).min(1).optional(),
        from: Identity.optional(),
        /** Only signals leased to this session and not yet confirmed. */
        leased_to: SessionId.optional(),
        before_seq: z.number().int().min(1).optional(),
        limit: z.number().int().min(1).max(LIMITS.inbox_limit_max).default(INBOX_LIMIT_DEFAULT),
      }),
      output: z.object({
        signals: z.array(SignalView),
        /** `before_seq` of the next page; null on the last. A page may be shorter than `limit`. */
        next: z.number().int().nullable(),
      }),
      errors: ['identity_mismatch', 'store_unavailable'],
      allow: READERS,
      examples: [{ status: ['acked'] }],
      handle: (input, { modules: { signals }, caller }) => signals.inbox(caller, input),
    }),

    ack: defineAction({
      summary: 'Mark drained signals as handled: {signal_ids, result?}. The result goes to reply_to.',
      mutates: true,
      idempotent: true,
      aliases: ['coord_ack', 'coordinator_ack'].map((name) => ({ name, params: ackParams })),
      input: z.strictObject({ signal_ids: SignalIds, result: Json.optional() }),
      output: z.object({
        completed: z.array(SignalId),
        already: z.array(SignalId),
        unknown: z.array(SignalId),
        /** Sent replies, by their `reply_id`. */
        replied: z.array(z.object({ signal_id: SignalId, to: Identity, reply_id: SignalId })),
        /** Signals without a reply, with the reason: `no_reply_to`, `reply_to_self`, or an error code. */
        not_replied: z.array(z.object({ signal_id: SignalId, reason: z.string() })),
      }),
      errors: ['kind_forbidden', 'persona_wrapped', 'payload_too_large', 'queue_full', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ signal_ids: ['01JZ0000000000000000000000'], result: 'merged' }],
      handle: (input, { modules: { signals }, caller }) => signals.ack(caller, input),
    }),

    release: defineAction({
      summary: 'Give drained signals back unhandled: {signal_ids}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ signal_ids: SignalIds }),
      output: z.object({ released: z.array(SignalId), unknown: z.array(SignalId) }),
      errors: ['kind_forbidden', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ signal_ids: ['01JZ0000000000000000000000'] }],
      handle: (input, { modules: { signals }, caller }) => signals.release(caller, input),
    }),

    cancel: defineAction({
      summary: 'Cancel a sent signal before it is drained: {signal_id}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ signal_id: SignalId }),
      output: z.object({ signal_id: SignalId, to: Identity, status: z.literal('cancelled') }),
      errors: ['kind_forbidden', 'signal_unknown', 'identity_mismatch', 'signal_taken', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ signal_id: '01JZ0000000000000000000000' }],
      handle: ({ signal_id }, { modules: { signals }, caller }) => signals.cancel(caller, signal_id),
    }),

    replay: defineAction({
      summary: 'Queue dead or finished signals again: {signal_ids}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ signal_ids: SignalIds }),
      output: z.object({ replayed: z.array(SignalId), unknown: z.array(SignalId) }),
      errors: ['kind_forbidden', 'target_wrapped', 'queue_full', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ signal_ids: ['01JZ0000000000000000000000'] }],
      handle: (input, { modules: { signals }, caller }) => signals.replay(caller, input),
    }),

    read: defineAction({
      summary: 'One signal with its stages: {signal_id, part?}.',
      mutates: false,
      input: z.strictObject({ signal_id: SignalId, part: z.number().int().min(1).optional() }),
      output: SignalView,
      errors: ['signal_unknown', 'params_invalid', 'store_unavailable'],
      allow: READERS,
      examples: [
        { signal_id: '01JZ0000000000000000000000' },
        { signal_id: '01JZ0000000000000000000000', part: 2 },
      ],
      handle: async ({ signal_id, part }, { modules: { signals }, caller }) =>
        partOf(await signals.read(caller, signal_id), part),
    }),
  },
})

// Deprecated coordinator tools have a parameter for the agent, and `message_id` for a signal.

function inboxParams({ agent_id, status, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...rest,
    ...(agent_id === undefined ? {} : { to: agent_id }),
    ...(status === undefined ? {} : { status: Array.isArray(status) ? (status as unknown[]) : [status] }),
  }
}

function ackParams({ agent_id: _, message_id, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return { ...rest, ...(message_id === undefined ? {} : { signal_ids: [message_id] }) }
}
