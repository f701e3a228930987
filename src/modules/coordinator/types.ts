/** Interfaces of the coordinator. */
import type {
  AgentView,
  BlockedAnswer,
  BlockingView,
  CoordinatorStatus,
  HistoryInput,
  HistoryPage,
  LockAnswer,
  LockInput,
  LogInput,
  StatusInput,
  SubscriptionView,
  UnlockInput,
} from '../../contracts/coordination.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import type { AgentNotes } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { Registrations } from '../registry/registrations.ts'

export interface CoordinatorDeps {
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
  /** Throws `binding_stale` where another session represents the persona. */
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
  /** The operator may name a blocker, or none for all of them; other callers only themselves. */
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

/** The coordinator with the methods that only the hub calls. */
export interface CoordinatorModule extends Coordinator {
  /** Recipients of a broadcast on this topic. */
  subscribers(topic: string): Identity[]
  /** A sign of life of the caller's session. */
  seen(caller: Caller): void
  sessionLost(identity: Identity, session_id: SessionId): Promise<void>
  /** The persona was wrapped or removed. */
  personaEnded(identity: Identity): Promise<void>
  sweep(): Promise<void>
}
