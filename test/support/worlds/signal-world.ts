/** The signals and registry modules over in-memory stores, on a clock that the test moves. */
import type { Json } from '../../../src/contracts/ids.ts'
import { SendInput, DrainInput } from '../../../src/contracts/signal.ts'
import type { LeaveReason, Registration, SurfaceFacts } from '../../../src/contracts/registry.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import { openProjects } from '../../../src/modules/registry/projects.ts'
import { openPersonaRegistry, type PersonaRegistry } from '../../../src/modules/registry/personas.ts'
import type { LossReason, Ticket } from '../../../src/modules/registry/registration-rows.ts'
import { createRegistrations, type Registrations } from '../../../src/modules/registry/registrations.ts'
import { createRouteResolver } from '../../../src/modules/registry/route.ts'
import type { SignalEvents, SignalModule } from '../../../src/modules/signals/types.ts'
import { createSignals } from '../../../src/modules/signals/service.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { PathInspector } from '../../../src/ports/path-inspector.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createMemorySignalStore } from '../../../src/storage/memory/signal-store.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom, type FakeClock } from '../fakes/fake-clock.ts'
import { RECEIVED, type SentAnswer } from '../../../src/ports/sent-answer.ts'
import { AS_WRITTEN } from '../fakes/fake-path-inspector.ts'

/** One notification, in order: `signals.pushed`, `registry.left`, `link.lost`, … */
export interface Told {
  what: string
  about: Record<string, Json>
}

export interface SignalWorld {
  clock: FakeClock
  store: SignalStore
  records: RecordStore
  signals: SignalModule
  personas: PersonaRegistry
  registrations: Registrations
  told: Told[]
  /** Returns the notifications of this kind, oldest first. */
  toldOf(what: string): Record<string, Json>[]
  /** Sends a signal with default values. */
  send(input: Partial<SendInput> & { to: string }, caller?: Caller): ReturnType<SignalModule['send']>
  drain(caller: Caller, input?: Partial<DrainInput>, answer?: SentAnswer): ReturnType<SignalModule['drain']>
  join(identity: string, kind: 'agent' | 'daemon', session_id?: string, surface?: 'command' | 'mcp'): Ticket
  /** Restarts the hub on the same stores; in-memory state is lost. */
  restart(): Promise<SignalWorld>
}

export const OPERATOR: Caller = { tenant_id: 'local', kind: 'operator', identity: 'operator' }

export function agent(identity: string, session_id?: string): Caller {
  return { tenant_id: 'local', kind: 'agent', identity, ...(session_id === undefined ? {} : { session_id }) }
}

export function daemon(identity: string): Caller {
  return { tenant_id: 'local', kind: 'daemon', identity }
}

export function observer(identity: string): Caller {
  return { tenant_id: 'local', kind: 'observer', identity }
}

export function facts(
  session_id: string | null,
  turn: SurfaceFacts['turn'] = 'idle',
  turn_seq = 0,
  attached = true,
): SurfaceFacts {
  return { attached, session_id, turn, turn_seq }
}

let runs = 0

export async function signalWorld(
  options: {
    clock?: FakeClock
    store?: SignalStore
    records?: RecordStore
    personas?: readonly string[]
    /** Contents of directories; empty if omitted. */
    places?: PathInspector
    /** Subscribers by topic. */
    subscribers?: Record<string, string[]>
    /** Resolves when the frames already received from the links are processed; immediately if omitted. */
    flushInbound?: () => Promise<boolean>
    /** Default lifetime of agents' signals, in seconds. */
    ttl_s?: number
    /** Wraps the store that the module uses. */
    spy?: (store: SignalStore) => SignalStore
  } = {},
): Promise<SignalWorld> {
  const clock = options.clock ?? fakeClock()
  const kept = options.store ?? createMemorySignalStore(clock)
  const store = options.spy?.(kept) ?? kept
  const records = options.records ?? createMemoryRecordStore()
  // Ids differ in every run, as with real randomness, and follow the last stored one, as the hub ensures.
  const ids = createIds(clock, seededRandom((runs += 1)))
  const last = store.health().last_signal_id
  if (last !== null) ids.startAfter(last)
  const told: Told[] = []
  const tell = (what: string, about: object) => void told.push({ what, about: about as Record<string, Json> })

  const names: (keyof SignalEvents)[] = [
    ...(['pushed', 'repeated', 'drained', 'confirmed', 'released', 'freed', 'replayed'] as const),
    ...(['completed', 'expired', 'cancelled', 'dead', 'replyRefused', 'rung'] as const),
  ]
  const events = Object.fromEntries(
    names.map((name) => [name, (about: object) => tell(`signals.${name}`, about)]),
  ) as unknown as SignalEvents

  const registrations = createRegistrations({
    clock,
    events: {
      joined: (row: Registration) => tell('registry.joined', row),
      left: (row: Registration, reason: LeaveReason) => tell('registry.left', { ...row, reason }),
    },
  })
  const routes = createRouteResolver(registrations)
  const projects = await openProjects({
    records,
    places: options.places ?? AS_WRITTEN,
    clock,
    ids,
    log: silentLog,
  })
  const personas = await openPersonaRegistry({
    ...{ records, projects, registrations, clock, log: silentLog },
    pendingCount: (identity) => store.pendingCount(identity),
    expiredCount: (identity) => store.expiredCount(identity),
    changed: (persona) => tell('persona.changed', persona),
  })
  for (const identity of options.personas ?? ['alice', 'bob']) {
    await personas.add({ identity, surface: 'command' })
  }
  const signals = createSignals({
    ...{ store, personas, routes, events, clock, ids, log: silentLog },
    subscribers: (topic) => options.subscribers?.[topic] ?? [],
    ...(options.ttl_s === undefined ? {} : { ttl_s: options.ttl_s }),
    ...(options.flushInbound === undefined ? {} : { flushInbound: options.flushInbound }),
  })
  await signals.start()

  return {
    ...{ clock, store, records, signals, personas, registrations, told },
    toldOf: (what) => told.filter((one) => one.what === what).map(({ about }) => about),
    send: (input, caller = agent('alice')) =>
      signals.send(caller, SendInput.parse({ intent: 'note', ...input })),
    drain: (caller, input = {}, answer = RECEIVED) => signals.drain(caller, DrainInput.parse(input), answer),
    join: (identity, kind, session_id = `${kind}-1`, surface = 'command') =>
      registrations.join({
        ...{ identity, surface, kind, session_id },
        holder: { lose: (why: LossReason) => tell('link.lost', { identity, kind, session_id, why }) },
      }),
    restart: () => signalWorld({ ...options, clock, store: kept, records, personas: [] }),
  }
}
