/** The coordinator and the registry over in-memory stores, on a clock that the test moves. */
import type { HubEvent } from '../../../src/contracts/events.ts'
import {
  LockInput,
  StatusInput,
  UnlockInput,
  type CoordinatorStatus,
} from '../../../src/contracts/coordination.ts'
import type { Registration, LeaveReason } from '../../../src/contracts/registry.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import { openCoordinator } from '../../../src/modules/coordinator/service.ts'
import type { CoordinatorModule } from '../../../src/modules/coordinator/types.ts'
import { openPersonaRegistry, type PersonaRegistry } from '../../../src/modules/registry/personas.ts'
import { createRegistrations, type Registrations } from '../../../src/modules/registry/registrations.ts'
import type { EventLog } from '../../../src/ports/event-log.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createIds } from '../../../src/system/random.ts'
import { openProjects } from '../../../src/modules/registry/projects.ts'
import { fakeClock, seededRandom, type FakeClock } from '../fakes/fake-clock.ts'
import { AS_WRITTEN } from '../fakes/fake-path-inspector.ts'

export interface CoordinatorWorld {
  clock: FakeClock
  records: RecordStore
  events: EventLog
  registrations: Registrations
  personas: PersonaRegistry
  coordinator: CoordinatorModule
  lock(caller: Caller, resource: string, more?: Partial<LockInput>): ReturnType<CoordinatorModule['lock']>
  unlock(
    caller: Caller,
    resource: string,
    more?: Partial<UnlockInput>,
  ): ReturnType<CoordinatorModule['unlock']>
  status(caller?: Caller): CoordinatorStatus
  /** Returns the held resources with their holders, as `alice src/a`. */
  held(): string[]
  /** Returns the events of a family, such as `lease.taken`, with their data. */
  told(family: string): Pick<HubEvent, 'type' | 'agent_id' | 'data'>[]
  /** Restarts the hub on the same records; in-memory state is lost. */
  restart(): Promise<CoordinatorWorld>
}

const OPERATOR: Caller = { tenant_id: 'local', kind: 'operator', identity: 'operator' }

let runs = 0

export async function coordinatorWorld(
  options: { clock?: FakeClock; records?: RecordStore; events?: EventLog; personas?: readonly string[] } = {},
): Promise<CoordinatorWorld> {
  const clock = options.clock ?? fakeClock()
  const records = options.records ?? createMemoryRecordStore()
  const events = options.events ?? createMemoryEventLog(clock)
  const ids = createIds(clock, seededRandom((runs += 1)))
  const about = { ids, clock, log: silentLog }
  const registrations = createRegistrations({
    clock,
    events: {
      joined: () => undefined,
      left: (row: Registration, _reason: LeaveReason) => {
        const rows = registrations.rows(row.identity)
        if (rows.some(({ kind, session_id }) => kind === 'agent' && session_id === row.session_id)) return
        if (row.kind === 'agent') void coordinator.sessionLost(row.identity, row.session_id)
      },
    },
  })
  const projects = await openProjects({ records, places: AS_WRITTEN, ...about })
  const personas = await openPersonaRegistry({
    ...{ records, projects, registrations, clock, log: silentLog },
    pendingCount: () => 0,
    expiredCount: () => 0,
    changed(persona) {
      if (persona.state !== 'active') void coordinator.personaEnded(persona.identity)
    },
  })
  const coordinator = await openCoordinator({ records, registrations, personas, events, ...about })
  for (const identity of options.personas ?? ['alice', 'bob', 'cyd']) {
    await personas.add({ identity, surface: 'command' })
  }
  const status = (caller = OPERATOR) => coordinator.status(caller, StatusInput.parse({}))
  return {
    ...{ clock, records, events, registrations, personas, coordinator, status },
    lock: (caller, resource, more = {}) => coordinator.lock(caller, LockInput.parse({ resource, ...more })),
    unlock: (caller, resource, more = {}) =>
      coordinator.unlock(caller, UnlockInput.parse({ resource, ...more })),
    held: () => status().locks.map(({ identity, resource }) => `${identity} ${resource}`),
    told: (family) =>
      events
        .read({ type: family, limit: 1_000 })
        .events.map(({ type, agent_id, data }) => ({ type, agent_id, data })),
    restart: () => coordinatorWorld({ clock, records, events, personas: [] }),
  }
}
