/** Builds the modules of a hub and connects them to its bus. */
import type { Identity } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { RecordKind } from '../contracts/memory/records.ts'
import type { PluginReport } from '../contracts/plugin.ts'
import type { Facade } from '../kernel/define.ts'
import { createRegistry } from '../kernel/registry.ts'
import { openCoordinator } from '../modules/coordinator/service.ts'
import type { CoordinatorModule } from '../modules/coordinator/types.ts'
import { recordedLinks } from '../modules/git/recorded-links.ts'
import { createGit } from '../modules/git/service.ts'
import { sessionOf } from '../modules/lib/caller-guards.ts'
import type { ModuleFactory } from '../modules/module-context.ts'
import { createModules, MODULES, type Modules } from '../modules/modules.ts'
import { createRecords } from '../modules/records/service.ts'
import { openPersonaRegistry } from '../modules/registry/personas.ts'
import { openProjects } from '../modules/registry/projects.ts'
import { createRegistrations, type Registrations } from '../modules/registry/registrations.ts'
import { createRouteResolver, type RouteResolver } from '../modules/registry/route.ts'
import { repositoryRoot } from '../modules/registry/scope.ts'
import type { RoutineModule, RoutineSettings } from '../modules/routines/service.ts'
import type { StepType } from '../modules/routines/step-type.ts'
import type { Intake } from '../modules/activity/intake.ts'
import { createSignals } from '../modules/signals/service.ts'
import type { SignalModule } from '../modules/signals/types.ts'
import type { Clock } from '../ports/clock.ts'
import type { Embedder } from '../ports/embedder.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { GitRunner } from '../ports/git.ts'
import type { Log } from '../ports/log.ts'
import type { PathInspector } from '../ports/path-inspector.ts'
import type { ProjectStore } from '../ports/project-store.ts'
import type { Ids } from '../ports/random.ts'
import type { RecordStore } from '../ports/record-store.ts'
import type { SignalStore } from '../ports/signal-store.ts'
import { openActivity, type OpenActivityDeps } from './activity/open-activity.ts'
import type { Bus } from './bus.ts'
import type { HubModule } from './hub-module.ts'
import type { Lifecycle } from './lifecycle.ts'
import { openMemory, type OpenedMemory } from './project-memory.ts'
import { openRoutines, type Outside } from './routines.ts'

export interface ModuleDeps extends Pick<OpenActivityDeps, 'activity' | 'isRunning'> {
  stores: { signals: SignalStore; records: RecordStore; events: EventLog }
  /** Opens the records in a project's directory; returns null if the directory does not exist. */
  openProject: (root: string) => ProjectStore | null
  /** Compares texts by meaning. Default: none; search then compares words only. */
  embedder?: Embedder | null
  places: PathInspector
  git: GitRunner
  facades: readonly Facade[]
  /** Record kinds that belong to no facade. */
  kinds?: readonly RecordKind[]
  plugins?: readonly PluginReport[]
  /** Modules in addition to those of `MODULES`. */
  modules?: Readonly<Record<string, ModuleFactory>>
  /** Lifetime of an agent's signals that name no `ttl_s`, in seconds. Default: `LIMITS.agent_ttl_default_s`. */
  signals_ttl_s?: number
  /** Routines, the sandbox policy and commands. Default: none. */
  settings?: RoutineSettings
  /** Step types in addition to the built-in ones. */
  steps?: readonly StepType[]
  outside: Outside
  clock: Clock
  ids: Ids
  log: Log
}

export interface HubModules {
  /** All modules, as facade handlers receive them. */
  modules: Modules & { signals: SignalModule; coordinator: CoordinatorModule; routines: RoutineModule }
  registrations: Registrations
  routes: RouteResolver
  intake: Intake
  /** Ordered as they receive events. */
  parts: HubModule[]
}

type OpenModulesDeps = ModuleDeps & {
  bus: Bus
  lifecycle: Lifecycle
  /** Resolves once every message that the persona's links sent before this call has been read; see `SignalDeps`. */
  flushInbound(identity: Identity): Promise<boolean>
}

export async function openModules(deps: OpenModulesDeps): Promise<HubModules> {
  const { stores, settings, steps, outside, clock, ids, log } = deps
  const { signals: store, records: hub_records, events } = stores
  const { registrations, routes, projects, personas } = await openRegistry(deps)
  const coordinator = await openCoordinator({
    records: hub_records,
    registrations,
    personas,
    events,
    clock,
    ids,
    log,
  })
  const signals = createSignals({
    store,
    personas,
    routes,
    subscribers: (topic) => coordinator.subscribers(topic),
    events: deps.bus.emit,
    flushInbound: (identity) => deps.flushInbound(identity),
    ...(deps.signals_ttl_s === undefined ? {} : { ttl_s: deps.signals_ttl_s }),
    clock,
    ids,
    log,
  })
  const record_deps = {
    hub_records,
    openProject: deps.openProject,
    projects,
    personas,
    events,
    clock,
    ids,
    log,
  }
  const records = createRecords({ kinds: createRegistry(deps.facades, deps.kinds).kinds, ...record_deps })
  const memory = openMemory({ ...record_deps, records, embedder: deps.embedder })
  const git = createGit({
    git: deps.git,
    clock,
    rootOf: (call) => repositoryRoot({ projects, personas }, call),
    linksOf: (call) => recordedLinks(records, call),
  })
  const { activity, intake, parts: activity_parts } = openActivity(deps, events)
  const kinds = records.kinds.list().map(({ kind }) => kind)
  return {
    modules: {
      signals,
      personas,
      projects,
      records,
      ...memory.modules,
      git,
      coordinator,
      ...createModules({ ...MODULES, ...deps.modules }, { ...record_deps, records }),
      ...openRoutines({ outside, settings, steps, kinds, personas, projects, hub_records, clock, ids, log }),
      plugins: deps.plugins ?? [],
      activity,
    },
    registrations,
    routes,
    intake,
    parts: [
      registrationPart(registrations),
      signalPart(signals, registrations),
      coordinatorPart(coordinator, deps.lifecycle, log),
      memoryPart(memory),
      ...activity_parts,
    ],
  }
}

/** Opens personas, projects and registrations. */
async function openRegistry({ bus, stores, places, clock, ids, log }: OpenModulesDeps) {
  const { emit } = bus
  const { signals: store, records } = stores
  const registrations = createRegistrations({
    clock,
    events: { joined: (row) => emit.rowJoined(row), left: (row, reason) => emit.rowLeft(row, reason) },
  })
  const projects = await openProjects({ records, places, clock, ids, log })
  const personas = await openPersonaRegistry({
    records,
    projects,
    registrations,
    pendingCount: (identity) => store.pendingCount(identity),
    expiredCount: (identity) => store.expiredCount(identity),
    changed: (persona) => emit.personaChanged(persona),
    clock,
    log,
  })
  return { registrations, routes: createRouteResolver(registrations), projects, personas }
}

function registrationPart(registrations: Registrations): HubModule {
  return { name: 'registrations', sweep: () => registrations.sweep() }
}

function coordinatorPart(coordinator: CoordinatorModule, lifecycle: Lifecycle, log: Log): HubModule {
  return {
    name: 'coordinator',
    listener: {
      callerSeen: (caller) => coordinator.seen(caller),
      personaChanged({ state, identity }) {
        if (state === 'active') return
        coordinator.personaEnded(identity).catch((err: unknown) => {
          log[lifecycle.failureLevel()]({ err, identity }, 'locks of an ended persona not released')
        })
      },
    },
    sweep: () => coordinator.sweep(),
    // A stopping hub closes every link; locks stay until the holder reconnects or they expire.
    sessionLost: (...session) =>
      lifecycle.isStopping() ? Promise.resolve() : coordinator.sessionLost(...session),
  }
}

function signalPart(signals: SignalModule, registrations: Registrations): HubModule {
  return {
    name: 'signals',
    listener: {
      callerSeen(caller) {
        if (caller.kind !== 'agent') return
        const { identity } = caller
        const session_id = sessionOf(caller)
        signals.sessionSeen(identity, session_id)
        registrations.seen({ identity, session_id })
      },
    },
    sweep: () => signals.sweep(),
    sessionLost: (...session) => signals.sessionLost(...session),
  }
}

function memoryPart(memory: OpenedMemory): HubModule {
  const { blackboard, decisions } = memory.modules
  return {
    name: 'project memory',
    jobs: [
      {
        name: 'archiving of the blackboard',
        every_ms: LIMITS.memory_sweep_ms,
        run: () => blackboard.sweep(),
      },
      { name: 'outbox of decisions', every_ms: LIMITS.outbox_sweep_ms, run: () => decisions.sweep() },
    ],
    stop: () => memory.close(),
  }
}
