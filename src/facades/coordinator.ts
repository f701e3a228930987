/** How agents that share a project keep out of each other's way. */
import * as z from 'zod'
import { defineAction, defineFacade, type Alias, READERS } from '../kernel/define.ts'
import {
  AgentView,
  BlockedAnswer,
  Blocking,
  BlockingView,
  CoordinatorStatus,
  HistoryInput,
  HistoryPage,
  Lease,
  LeaseScope,
  LockAnswer,
  LockInput,
  LogInput,
  Note,
  StatusInput,
  Subscription,
  SubscriptionView,
  UnlockInput,
} from '../contracts/coordination.ts'
import { Identity, Timestamp } from '../contracts/ids.ts'
import type { RecordKind } from '../contracts/records.ts'
import { AgentNotes } from '../contracts/registry.ts'
import { Topic } from '../contracts/signal.ts'

/** What the coordinator keeps; its module says how each is written down. */
const KINDS: readonly RecordKind[] = [
  {
    name: 'lease',
    summary: 'A session holds a resource, or held it until lately.',
    keeper: 'hub',
    changed_by: 'coordinator',
    fields: z.strictObject({
      ...Lease.pick({ resource: true, identity: true, session_id: true, epoch: true, ttl_s: true }).shape,
      ...Lease.pick({ expires_at: true, ended_at: true, note: true }).shape,
      /** What the lease calls its scope: every record has another one. */
      covers: LeaseScope,
    }),
    status: { initial: 'held', moves: { held: ['released', 'expired'] } },
  },
  {
    name: 'blocking',
    summary: 'A persona has to wait for another.',
    keeper: 'hub',
    changed_by: 'coordinator',
    fields: z.strictObject(Blocking.pick({ blocker: true, blocked: true, reason: true }).shape),
    status: { initial: 'active', moves: { active: ['resolved'] } },
  },
  {
    name: 'subscription',
    summary: 'A persona gets what is broadcast on a topic.',
    keeper: 'hub',
    changed_by: 'coordinator',
    fields: z.strictObject(Subscription.pick({ identity: true, topic: true }).shape),
    status: { initial: 'active', moves: { active: ['removed'] } },
  },
]
const OneTopic = z.strictObject({ topic: Topic })

/** The old tools named the calling agent in a parameter; now the token does. */
const old = (name: string): Alias => ({ name, params: ({ agent_id: _, ...rest }) => rest })

export const coordinator = defineFacade({
  name: 'coordinator',
  summary: 'Who is there, who holds which resource, and who waits for whom.',
  overview:
    'Agents at work: status. lock {resource, ttl_s?, scope: tree for all below a path} before you change what is shared; ' +
    'unlock {resource}. heartbeat {note?, progress?}. block/unblock {identity, reason}. log {message}, history. subscribe {topic}.',
  compact: 'Presence, locks, blockings.',
  facet: 'core',
  kinds: KINDS,
  micro: ['register', 'heartbeat', 'status', 'lock', 'unlock'],
  actions: {
    register: defineAction({
      summary: 'Say that you are there, and what for: {purpose?, capabilities?: labels}.',
      mutates: true,
      idempotent: true,
      aliases: [old('coord_register')],
      input: AgentNotes.pick({ purpose: true, capabilities: true }).strict(),
      output: AgentView,
      errors: ['kind_forbidden', 'persona_wrapped', 'binding_stale', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ purpose: 'moves the parser to its own package', capabilities: ['typescript'] }],
      handle: (notes, { coordinator, caller }) => coordinator.register(caller, notes),
    }),

    heartbeat: defineAction({
      summary: 'Say that you are still there, and how far: {note?, progress?: percent}.',
      mutates: true,
      idempotent: true,
      aliases: [old('coord_heartbeat')],
      input: AgentNotes.pick({ note: true, progress: true }).strict(),
      output: AgentView,
      errors: ['kind_forbidden', 'persona_wrapped', 'binding_stale', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ note: 'tests are running', progress: 60 }],
      handle: (notes, { coordinator, caller }) => coordinator.heartbeat(caller, notes),
    }),

    status: defineAction({
      summary: 'Who is there, what they hold, who blocks whom: {identity?, limit?}.',
      mutates: false,
      aliases: [old('coord_status')],
      input: StatusInput,
      output: CoordinatorStatus,
      errors: [],
      allow: READERS,
      examples: [{}, { identity: 'bob' }],
      handle: (input, { coordinator, caller }) => coordinator.status(caller, input),
    }),

    lock: defineAction({
      summary: 'Take a resource, or keep yours for longer: {resource, ttl_s?, scope?: exact or tree, note?}.',
      mutates: true,
      idempotent: true,
      aliases: [old('coord_lock')],
      input: LockInput,
      output: LockAnswer,
      errors: [
        ...(['kind_forbidden', 'persona_wrapped', 'resource_locked', 'lease_stale'] as const),
        ...(['limit_reached', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [
        { resource: 'src/parser', scope: 'tree', ttl_s: 900, note: 'moving it to a package' },
        { resource: 'deploy' },
      ],
      handle: (input, { coordinator, caller }) => coordinator.lock(caller, input),
    }),

    unlock: defineAction({
      summary: 'Give a resource back: {resource, epoch?}.',
      mutates: true,
      idempotent: true,
      aliases: [old('coord_unlock')],
      input: UnlockInput,
      output: z.object({ released: z.boolean() }),
      errors: [
        ...(['kind_forbidden', 'persona_wrapped', 'resource_locked', 'lease_stale'] as const),
        ...(['operator_required', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [{ resource: 'src/parser' }],
      handle: (input, { coordinator, caller }) => coordinator.unlock(caller, input),
    }),

    log: defineAction({
      summary: 'Tell all agents something, for the record: {message, level?, data?}.',
      mutates: true,
      aliases: [old('coord_log')],
      input: LogInput,
      output: z.object({ seq: z.number().int(), timestamp: Timestamp }),
      errors: ['kind_forbidden', 'persona_wrapped', 'params_invalid', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ message: 'the main branch is green again' }],
      handle: (input, { coordinator, caller, context }) => coordinator.log(caller, context.run_id, input),
    }),

    history: defineAction({
      summary: 'What agents logged, oldest first: {since?: seq or time, agent_id?, limit?}.',
      mutates: false,
      input: HistoryInput,
      output: HistoryPage,
      errors: [],
      allow: READERS,
      examples: [{}, { since: '2026-01-31T12:00:00Z', agent_id: 'bob' }],
      handle: (input, { coordinator, caller }) => coordinator.history(caller, input),
    }),

    block: defineAction({
      summary: 'Say that a persona has to wait for you: {identity, reason}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ identity: Identity, reason: Note }),
      output: BlockingView,
      errors: [
        ...(['kind_forbidden', 'persona_wrapped', 'params_invalid', 'target_unknown'] as const),
        ...(['target_wrapped', 'limit_reached', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [{ identity: 'bob', reason: 'the schema changes until the migration is in' }],
      handle: (input, { coordinator, caller }) => coordinator.block(caller, input),
    }),

    unblock: defineAction({
      summary: 'Say that a persona need not wait for you any more: {identity}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        identity: Identity,
        /** For the operator, who otherwise ends all that block this persona. */
        blocker: Identity.optional(),
      }),
      output: z.object({ unblocked: z.array(BlockingView) }),
      errors: ['kind_forbidden', 'persona_wrapped', 'identity_mismatch', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ identity: 'bob' }],
      handle: (input, { coordinator, caller }) => coordinator.unblock(caller, input),
    }),

    blocked: defineAction({
      summary: 'Whether you, or a persona, has to wait, for whom and why: {identity?}.',
      mutates: false,
      input: z.strictObject({ identity: Identity.optional() }),
      output: BlockedAnswer,
      errors: [],
      allow: READERS,
      examples: [{}],
      handle: ({ identity }, { coordinator, caller }) => coordinator.blocked(caller, identity),
    }),

    subscribe: defineAction({
      summary: 'Get what is broadcast on a topic: {topic}.',
      mutates: true,
      idempotent: true,
      input: OneTopic,
      output: SubscriptionView,
      errors: ['kind_forbidden', 'persona_wrapped', 'limit_reached', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ topic: 'releases' }],
      handle: ({ topic }, { coordinator, caller }) => coordinator.subscribe(caller, topic),
    }),

    unsubscribe: defineAction({
      summary: 'Get it no more: {topic}.',
      mutates: true,
      idempotent: true,
      input: OneTopic,
      output: z.object({ removed: z.boolean() }),
      errors: ['kind_forbidden', 'persona_wrapped', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ topic: 'releases' }],
      handle: ({ topic }, { coordinator, caller }) => coordinator.unsubscribe(caller, topic),
    }),

    subscriptions: defineAction({
      summary: 'Who gets what is broadcast on which topic: {identity?, topic?}.',
      mutates: false,
      input: z.strictObject({ identity: Identity.optional(), topic: Topic.optional() }),
      output: z.object({ subscriptions: z.array(SubscriptionView) }),
      errors: [],
      allow: READERS,
      handle: (filter, { coordinator, caller }) => ({
        subscriptions: coordinator.subscriptions(caller, filter),
      }),
    }),
  },
})
