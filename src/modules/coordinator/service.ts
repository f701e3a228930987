/**
 * The coordinator as the rest of the hub sees it: who is there, what they hold, who waits for whom, and what
 * they tell each other. Who acts is told from the token, never from a parameter.
 */
import { openBlockings } from './blockings.ts'
import { requireActive, requireOther, requireOwnAgent, requirePersona, whoseBlocking } from './callers.ts'
import { openLeases, type LeaseOwner } from './leases.ts'
import { readLog, writeLog } from './log.ts'
import { BLOCKINGS, LEASES, SUBSCRIPTIONS } from './shelves.ts'
import { agentView, blockingView, lockOf, statusOf } from './status.ts'
import { openSubscriptions } from './subscriptions.ts'
import type {
  AgentView,
  BlockedAnswer,
  BlockingView,
  CoordinatorStatus,
  HistoryInput,
  HistoryPage,
  Lease,
  LockAnswer,
  LockInput,
  LogInput,
  StatusInput,
  SubscriptionView,
  UnlockInput,
} from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import type { AgentNotes, Registration } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { Registrations } from '../registry/registrations.ts'
import { createShelf } from '../shelf.ts'
import { ensureOwnPersona, requireSpeaker, sessionOf } from '../signals/callers.ts'
import { shownTo } from '../signals/defang.ts'

export interface CoordinatorNeeds {
  records: RecordStore
  registrations: Pick<Registrations, 'rows' | 'register' | 'report'>
  personas: Pick<PersonaRegistry, 'get' | 'ensure'>
  events: Pick<EventLog, 'append' | 'read'>
  clock: Clock
  ids: Ids
  log: Log
}

/** Every change may throw `kind_forbidden`, `persona_wrapped` and `store_unavailable`. */
export interface Coordinator {
  /** Throws `binding_stale` where another session stands for the persona. */
  register(caller: Caller, notes: AgentNotes): Promise<AgentView>
  heartbeat(caller: Caller, notes: AgentNotes): Promise<AgentView>
  status(caller: Caller, input: StatusInput): CoordinatorStatus
  /** Throws `resource_locked`, `lease_stale`, `limit_reached`. */
  lock(caller: Caller, input: LockInput): Promise<LockAnswer>
  /** Throws `resource_locked`, `lease_stale`, and `operator_required` for `force`. */
  unlock(caller: Caller, input: UnlockInput): Promise<{ released: boolean }>
  log(caller: Caller, run_id: string | null, input: LogInput): Promise<{ seq: number; timestamp: string }>
  history(caller: Caller, input: HistoryInput): HistoryPage
  /** Throws `target_unknown`, `target_wrapped`, `limit_reached`. */
  block(caller: Caller, input: { identity: Identity; reason: string }): Promise<BlockingView>
  /** The operator may name a blocker, or none for all of them; everybody else only itself. */
  unblock(
    caller: Caller,
    input: { identity: Identity; blocker?: Identity | undefined },
  ): Promise<{ unblocked: BlockingView[] }>
  blocked(caller: Caller, identity: Identity | undefined): BlockedAnswer
  subscribe(caller: Caller, topic: string): Promise<SubscriptionView>
  unsubscribe(caller: Caller, topic: string): Promise<{ removed: boolean }>
  subscriptions(
    caller: Caller,
    filter: { identity?: Identity | undefined; topic?: string | undefined },
  ): SubscriptionView[]
}

/** What the hub tells it and asks it beside that. */
export interface CoordinatorModule extends Coordinator {
  /** Who gets what is broadcast on this topic. */
  subscribers(topic: string): Identity[]
  /** A sign of life. */
  seen(caller: Caller): void
  sessionLost(identity: Identity, session_id: SessionId): Promise<void>
  /** The persona was wrapped or removed. */
  personaEnded(identity: Identity): Promise<void>
  sweep(): Promise<void>
}

export async function openCoordinator(needs: CoordinatorNeeds): Promise<CoordinatorModule> {
  const { registrations, personas, events, clock, ids } = needs
  const tell = (type: string, agent_id: Identity, data: Parameters<EventLog['append']>[0]['data']) =>
    void events.append({ type, agent_id, data })
  const tellLease = (type: string, { identity, ...lease }: Lease, more: { cause?: string } = {}) => {
    const { resource, scope, session_id, epoch, expires_at } = lease
    tell(type, identity, { resource, scope, session_id, epoch, expires_at, ...more })
  }

  const leases = await openLeases({
    shelf: createShelf(needs, LEASES),
    events: {
      taken: (lease) => tellLease('lease.taken', lease),
      released: (lease, cause) => tellLease('lease.released', lease, { cause }),
      expired: (lease) => tellLease('lease.expired', lease),
    },
    isRegistered: ({ identity, session_id }) =>
      registrations.rows(identity).some((row) => row.kind === 'agent' && row.session_id === session_id),
    ...{ clock, ids },
  })
  const blockings = await openBlockings({
    shelf: createShelf(needs, BLOCKINGS),
    events: {
      blocked: (blocking) => tell('agent.blocked', blocking.blocked, blockingView(blocking)),
      unblocked: (blocking) => tell('agent.unblocked', blocking.blocked, blockingView(blocking)),
    },
    ...{ clock, ids },
  })
  const subscriptions = await openSubscriptions({ shelf: createShelf(needs, SUBSCRIPTIONS), clock, ids })
  const personaEnded = async (identity: Identity) => {
    await Promise.all([
      leases.personaEnded(identity),
      blockings.personaEnded(identity),
      subscriptions.personaEnded(identity),
    ])
  }
  // A hub may have died after it had noted the end of a persona, and before this.
  const named = new Set([
    ...[...leases.held(), ...subscriptions.list()].map(({ identity }) => identity),
    ...blockings.list().flatMap(({ blocker, blocked }) => [blocker, blocked]),
  ])
  for (const identity of named) {
    const persona = personas.get(identity)
    if (persona !== null && persona.state !== 'active') await personaEnded(identity)
  }

  const ownerOf = (caller: Caller): LeaseOwner => ({
    identity: caller.identity,
    session_id: sessionOf(caller),
  })
  const act = async (caller: Caller, verb: string) => {
    requireSpeaker(caller, verb)
    await ensureOwnPersona(needs, caller)
  }
  const beThere = async (caller: Caller, how: (agent: LeaseOwner) => Registration) => {
    requireOwnAgent(caller)
    await ensureOwnPersona(needs, caller)
    const row = how(ownerOf(caller))
    leases.seen(ownerOf(caller))
    return shownTo(caller, agentView(row, leases.held(), blockings.list()))
  }

  return {
    register: (caller, notes) => beThere(caller, (agent) => registrations.register(agent, notes)),
    heartbeat: (caller, notes) => beThere(caller, (agent) => registrations.report(agent, notes)),
    status(caller, input) {
      const situation = { rows: registrations.rows(), leases: leases.held(), blockings: blockings.list() }
      return shownTo(caller, statusOf(situation, input, timestamp(clock)))
    },

    async lock(caller, input) {
      await act(caller, 'lock')
      const { lease, extended } = await leases.take(ownerOf(caller), input)
      return { ...lockOf(lease), extended }
    },
    async unlock(caller, input) {
      await act(caller, 'unlock')
      if (input.force && caller.kind !== 'operator') {
        throw new TurnbellError('operator_required', {
          detail: `${caller.identity} may unlock what it holds; by force only the operator unlocks.`,
          hint: 'Ask the holder with `signals send`; `coordinator status` tells who it is.',
        })
      }
      return { released: await leases.giveBack(ownerOf(caller), input) }
    },

    async log(caller, run_id, input) {
      await act(caller, 'log')
      return writeLog(events, caller.identity, run_id, input)
    },
    history: (caller, input) => shownTo(caller, readLog(events, input)),

    async block(caller, { identity, reason }) {
      await act(caller, 'block')
      requireOther(caller, identity)
      requireActive(personas, identity)
      return blockingView(await blockings.block(caller.identity, identity, reason))
    },
    async unblock(caller, { identity, blocker }) {
      await act(caller, 'unblock')
      const ended = await blockings.unblock(identity, whoseBlocking(caller, blocker))
      return { unblocked: ended.map(blockingView) }
    },
    blocked(caller, identity = caller.identity) {
      const all = blockings.list().map(blockingView)
      const blocked_by = all.filter(({ blocked }) => blocked === identity)
      const blocks = all.filter(({ blocker }) => blocker === identity)
      return shownTo(caller, { identity, blocked: blocked_by.length > 0, blocked_by, blocks })
    },

    async subscribe(caller, topic) {
      await act(caller, 'subscribe')
      requirePersona(caller)
      const { subscription_id: _, ...view } = await subscriptions.subscribe(caller.identity, topic)
      return view
    },
    async unsubscribe(caller, topic) {
      await act(caller, 'unsubscribe')
      return { removed: await subscriptions.unsubscribe(caller.identity, topic) }
    },
    subscriptions: (caller, { identity, topic }) =>
      subscriptions
        .list()
        .filter((one) => identity === undefined || one.identity === identity)
        .filter((one) => topic === undefined || one.topic === topic)
        .map(({ subscription_id: _, ...view }) => shownTo(caller, view)),

    subscribers: (topic) => subscriptions.subscribers(topic),
    seen: (caller) => leases.seen(ownerOf(caller)),
    sessionLost: (identity, session_id) => leases.sessionLost({ identity, session_id }),
    personaEnded,
    sweep: () => leases.sweep(),
  }
}
