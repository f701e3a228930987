/** Coordination of agents in one project: presence, locks, blockings and topics. */
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
  Lock,
  LockScope,
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
import type { RecordKind } from '../contracts/memory/records.ts'
import { AgentNotes } from '../contracts/registry.ts'
import { Topic } from '../contracts/signal.ts'

/** Kinds of records of the coordinator; its module defines their codecs. */
const KINDS: readonly RecordKind[] = [
  {
    name: 'lease',
    summary: 'A resource that a session holds, or held until recently.',
    keeper: 'hub',
    changed_by: 'coordinator',
    fields: z.strictObject({
      ...Lock.pick({ resource: true, identity: true, session_id: true, epoch: true, ttl_s: true }).shape,
      ...Lock.pick({ expires_at: true, ended_at: true, note: true }).shape,
      /** The `scope` of the lock, because `scope` is a common field of records. */
      covers: LockScope,
    }),
    status: { initial: 'held', moves: { held: ['released', 'expired'] } },
  },
  {
    name: 'blocking',
    summary: 'A persona that waits for another.',
    keeper: 'hub',
    changed_by: 'coordinator',
    fields: z.strictObject(Blocking.pick({ blocker: true, blocked: true, reason: true }).shape),
    status: { initial: 'active', moves: { active: ['resolved'] } },
  },
  {
    name: 'subscription',
    summary: 'A subscription of a persona to a topic.',
    keeper: 'hub',
    changed_by: 'coordinator',
    fields: z.strictObject(Subscription.pick({ identity: true, topic: true }).shape),
    status: { initial: 'active', moves: { active: ['removed'] } },
  },
]
const OneTopic = z.strictObject({ topic: Topic })

/** Deprecated tools have a parameter for the calling agent, which the token identifies now. */
const old = (name: string): Alias => ({ name, params: ({ agent_id: _, ...rest }) => rest })

export const coordinator = defineFacade({
  name: 'coordinator',
  summary: 'Presence of agents, locks on resources, and who waits for whom.',
  overview:
    'Agents at work: status. lock {resource, ttl_s?, scope: tree for all below a path} before you change shared files; ' +
    'unlock {resource}. heartbeat {note?, progress?}. block/unblock {identity, reason}. log {message}, history. subscribe {topic}.',
  compact: 'Presence, locks, blockings.',
  facet: 'core',
  kinds: KINDS,
  micro: ['register', 'heartbeat', 'status', 'lock', 'unlock'],
  actions: {
    register: defineAction({
      summary: 'Announce yourself: {purpose?, capabilities?: labels}.',
      mutates: true,
      idempotent: true,
      aliases: [old('coord_register')],
      input: AgentNotes.pick({ purpose: true, capabilities: true }).strict(),
      output: AgentView,
      errors: ['kind_forbidden', 'persona_wrapped', 'binding_stale', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ purpose: 'moves the parser to its own package', capabilities: ['typescript'] }],
      handle: (notes, { modules: { coordinator }, caller }) => coordinator.register(caller, notes),
    }),

    heartbeat: defineAction({
      summary: 'Report progress: {note?, progress?: percent}.',
      mutates: true,
      idempotent: true,
      aliases: [old('coord_heartbeat')],
      input: AgentNotes.pick({ note: true, progress: true }).strict(),
      output: AgentView,
      errors: ['kind_forbidden', 'persona_wrapped', 'binding_stale', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ note: 'tests are running', progress: 60 }],
      handle: (notes, { modules: { coordinator }, caller }) => coordinator.heartbeat(caller, notes),
    }),

    status: defineAction({
      summary: 'Agents with their locks and blockings: {identity?, limit?}.',
      mutates: false,
      aliases: [old('coord_status')],
      input: StatusInput,
      output: CoordinatorStatus,
      errors: [],
      allow: READERS,
      examples: [{}, { identity: 'bob' }],
      handle: (input, { modules: { coordinator }, caller }) => coordinator.status(caller, input),
    }),

    lock: defineAction({
      summary: 'Lock a resource, or extend your lock: {resource, ttl_s?, scope?: exact or tree, note?}.',
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
      handle: (input, { modules: { coordinator }, caller }) => coordinator.lock(caller, input),
    }),

    unlock: defineAction({
      summary: 'Release a lock: {resource, epoch?}.',
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
      handle: (input, { modules: { coordinator }, caller }) => coordinator.unlock(caller, input),
    }),

    log: defineAction({
      summary: 'Write a log message that all agents can read: {message, level?, data?}.',
      mutates: true,
      aliases: [old('coord_log')],
      input: LogInput,
      output: z.object({ seq: z.number().int(), timestamp: Timestamp }),
      errors: ['kind_forbidden', 'persona_wrapped', 'params_invalid', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ message: 'the main branch is green again' }],
      handle: (input, { modules: { coordinator }, caller, context }) =>
        coordinator.log(caller, context.run_id, input),
    }),

    history: defineAction({
      summary: 'Log messages of agents, oldest first: {since?: seq or time, agent_id?, limit?}.',
      mutates: false,
      input: HistoryInput,
      output: HistoryPage,
      errors: [],
      allow: READERS,
      examples: [{}, { since: '2026-01-31T12:00:00Z', agent_id: 'bob' }],
      handle: (input, { modules: { coordinator }, caller }) => coordinator.history(caller, input),
    }),

    block: defineAction({
      summary: 'Record that a persona waits for you: {identity, reason}.',
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
      handle: (input, { modules: { coordinator }, caller }) => coordinator.block(caller, input),
    }),

    unblock: defineAction({
      summary: 'Record that a persona no longer waits for you: {identity}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        identity: Identity,
        /** Only for the operator. Default: all blockers of the persona. */
        blocker: Identity.optional(),
      }),
      output: z.object({ unblocked: z.array(BlockingView) }),
      errors: ['kind_forbidden', 'persona_wrapped', 'identity_mismatch', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ identity: 'bob' }],
      handle: (input, { modules: { coordinator }, caller }) => coordinator.unblock(caller, input),
    }),

    blocked: defineAction({
      summary: 'Whom you, or a persona, waits for, and why: {identity?}.',
      mutates: false,
      input: z.strictObject({ identity: Identity.optional() }),
      output: BlockedAnswer,
      errors: [],
      allow: READERS,
      examples: [{}],
      handle: ({ identity }, { modules: { coordinator }, caller }) => coordinator.blocked(caller, identity),
    }),

    subscribe: defineAction({
      summary: 'Subscribe to the broadcasts of a topic: {topic}.',
      mutates: true,
      idempotent: true,
      input: OneTopic,
      output: SubscriptionView,
      errors: ['kind_forbidden', 'persona_wrapped', 'limit_reached', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ topic: 'releases' }],
      handle: ({ topic }, { modules: { coordinator }, caller }) => coordinator.subscribe(caller, topic),
    }),

    unsubscribe: defineAction({
      summary: 'End a subscription: {topic}.',
      mutates: true,
      idempotent: true,
      input: OneTopic,
      output: z.object({ removed: z.boolean() }),
      errors: ['kind_forbidden', 'persona_wrapped', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ topic: 'releases' }],
      handle: ({ topic }, { modules: { coordinator }, caller }) => coordinator.unsubscribe(caller, topic),
    }),

    subscriptions: defineAction({
      summary: 'Subscriptions to topics: {identity?, topic?}.',
      mutates: false,
      input: z.strictObject({ identity: Identity.optional(), topic: Topic.optional() }),
      output: z.object({ subscriptions: z.array(SubscriptionView) }),
      errors: [],
      allow: READERS,
      handle: (filter, { modules: { coordinator }, caller }) => ({
        subscriptions: coordinator.subscriptions(caller, filter),
      }),
    }),
  },
})
