/**
 * The coordinator: registered agents, locks on resources, blockings between personas, topics and the agents' log. The
 * acting persona is taken from the token, never from a parameter.
 */
import { openBlockings } from './blockings.ts'
import { blockerToEnd, requireActive, requireOther, requireOwnAgent, requirePersona } from './callers.ts'
import type { LockOwner } from './lock-table.ts'
import { openLocks } from './locks.ts'
import { readLog, writeLog } from './log.ts'
import { BLOCKINGS, LOCKS, SUBSCRIPTIONS } from './record-codecs.ts'
import { agentView, blockingView, createStatus, lockView } from './status.ts'
import { openSubscriptions } from './subscriptions.ts'
import type { CoordinatorDeps, CoordinatorModule } from './types.ts'
import type { Lock } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import type { Registration } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'
import { timestamp } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { createHubRecords } from '../lib/hub-records.ts'
import { ensureOwnPersona, requireSender, sessionOf } from '../lib/caller-guards.ts'

export async function openCoordinator(deps: CoordinatorDeps): Promise<CoordinatorModule> {
  const { registrations, personas, events, clock } = deps
  const { locks, blockings, subscriptions } = await openParts(deps)
  const personaEnded = async (identity: Identity) => {
    await Promise.all([
      locks.personaEnded(identity),
      blockings.personaEnded(identity),
      subscriptions.personaEnded(identity),
    ])
  }
  await endLeftovers(personas, { locks, blockings, subscriptions }, personaEnded)

  const requireCaller = async (caller: Caller, verb: string) => {
    requireSender(caller, verb)
    await ensureOwnPersona(deps, caller)
  }
  const updateRow = async (caller: Caller, update: (agent: LockOwner) => Registration) => {
    requireOwnAgent(caller)
    await ensureOwnPersona(deps, caller)
    const row = update(ownerOf(caller))
    locks.seen(ownerOf(caller))
    return agentView(row, locks.held(), blockings.list())
  }

  return {
    register: (caller, notes) => updateRow(caller, (agent) => registrations.register(agent, notes)),
    heartbeat: (caller, notes) => updateRow(caller, (agent) => registrations.report(agent, notes)),
    status(_, input) {
      const situation = { rows: registrations.rows(), locks: locks.held(), blockings: blockings.list() }
      return createStatus(situation, input, timestamp(clock))
    },

    async lock(caller, input) {
      await requireCaller(caller, 'lock')
      const { lock, extended } = await locks.take(ownerOf(caller), input)
      return { ...lockView(lock), extended }
    },
    async unlock(caller, input) {
      await requireCaller(caller, 'unlock')
      if (input.force && caller.kind !== 'operator') {
        throw new TurnbellError('operator_required', {
          detail: `${caller.identity} may unlock only its own locks; only the operator may use force.`,
          hint: 'Find the holder with `coordinator status` and ask it with `signals send`.',
        })
      }
      return { released: await locks.unlock(ownerOf(caller), input) }
    },

    async log(caller, run_id, input) {
      await requireCaller(caller, 'log')
      return writeLog(events, caller.identity, run_id, input)
    },
    history: (_, input) => readLog(events, input),

    ...createBlockingActions(personas, blockings, requireCaller),
    ...createSubscriptionActions(subscriptions, requireCaller),
    subscribers: (topic) => subscriptions.subscribers(topic),
    seen: (caller) => locks.seen(ownerOf(caller)),
    sessionLost: (identity, session_id) => locks.sessionLost({ identity, session_id }),
    personaEnded,
    sweep: () => locks.sweep(),
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>
type RequireCaller = (caller: Caller, verb: string) => Promise<void>

/** Ends what ended personas still hold, because the hub may have crashed after it had stored the end of a persona. */
async function endLeftovers(
  personas: CoordinatorDeps['personas'],
  { locks, blockings, subscriptions }: Parts,
  personaEnded: (identity: Identity) => Promise<void>,
): Promise<void> {
  const identities = new Set([
    ...[...locks.held(), ...subscriptions.list()].map(({ identity }) => identity),
    ...blockings.list().flatMap(({ blocker, blocked }) => [blocker, blocked]),
  ])
  for (const identity of identities) {
    const persona = personas.get(identity)
    if (persona !== null && persona.state !== 'active') await personaEnded(identity)
  }
}

function createBlockingActions(
  personas: CoordinatorDeps['personas'],
  blockings: Parts['blockings'],
  requireCaller: RequireCaller,
): Pick<CoordinatorModule, 'block' | 'unblock' | 'blocked'> {
  return {
    async block(caller, { identity, reason }) {
      await requireCaller(caller, 'block')
      requireOther(caller, identity)
      requireActive(personas, identity)
      return blockingView(await blockings.block(caller.identity, identity, reason))
    },
    async unblock(caller, { identity, blocker }) {
      await requireCaller(caller, 'unblock')
      const ended = await blockings.unblock(identity, blockerToEnd(caller, blocker))
      return { unblocked: ended.map(blockingView) }
    },
    blocked(caller, identity = caller.identity) {
      const all = blockings.list().map(blockingView)
      const blocked_by = all.filter(({ blocked }) => blocked === identity)
      const blocks = all.filter(({ blocker }) => blocker === identity)
      return { identity, blocked: blocked_by.length > 0, blocked_by, blocks }
    },
  }
}

function createSubscriptionActions(
  subscriptions: Parts['subscriptions'],
  requireCaller: RequireCaller,
): Pick<CoordinatorModule, 'subscribe' | 'unsubscribe' | 'subscriptions'> {
  return {
    async subscribe(caller, topic) {
      await requireCaller(caller, 'subscribe')
      requirePersona(caller)
      const { subscription_id: _, ...view } = await subscriptions.subscribe(caller.identity, topic)
      return view
    },
    async unsubscribe(caller, topic) {
      await requireCaller(caller, 'unsubscribe')
      return { removed: await subscriptions.unsubscribe(caller.identity, topic) }
    },
    subscriptions: (_, { identity, topic }) =>
      subscriptions
        .list()
        .filter((one) => identity === undefined || one.identity === identity)
        .filter((one) => topic === undefined || one.topic === topic)
        .map(({ subscription_id: _, ...view }) => view),
  }
}

async function openParts(deps: CoordinatorDeps) {
  const { registrations, events, clock, ids } = deps
  const publish = (type: string, agent_id: Identity, data: Parameters<EventLog['append']>[0]['data']) =>
    void events.append({ type, agent_id, data })
  const publishLock = (type: string, { identity, ...lock }: Lock, more: { cause?: string } = {}) => {
    const { resource, scope, session_id, epoch, expires_at } = lock
    publish(type, identity, { resource, scope, session_id, epoch, expires_at, ...more })
  }
  return {
    locks: await openLocks({
      records: createHubRecords(deps, LOCKS),
      events: {
        taken: (lock) => publishLock('lease.taken', lock),
        released: (lock, cause) => publishLock('lease.released', lock, { cause }),
        expired: (lock) => publishLock('lease.expired', lock),
      },
      isRegistered: ({ identity, session_id }) =>
        registrations.rows(identity).some((row) => row.kind === 'agent' && row.session_id === session_id),
      clock,
      ids,
    }),
    blockings: await openBlockings({
      records: createHubRecords(deps, BLOCKINGS),
      events: {
        blocked: (blocking) => publish('agent.blocked', blocking.blocked, blockingView(blocking)),
        unblocked: (blocking) => publish('agent.unblocked', blocking.blocked, blockingView(blocking)),
      },
      clock,
      ids,
    }),
    subscriptions: await openSubscriptions({ records: createHubRecords(deps, SUBSCRIPTIONS), clock, ids }),
  }
}

function ownerOf(caller: Caller): LockOwner {
  return { identity: caller.identity, session_id: sessionOf(caller) }
}
