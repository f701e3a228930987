/**
 * The hub without its sockets' addresses: modules, kernel, links and what ties them together. Time,
 * randomness and stores are handed in, so a simulation runs the same hub as a machine does.
 */
import { createKernel, type DispatchLine, type Kernel } from '../kernel/dispatch.ts'
import type { Facade } from '../kernel/define.ts'
import type { Grants } from '../kernel/policy.ts'
import type { HubEvent } from '../contracts/events.ts'
import type { PluginReport } from '../contracts/plugin.ts'
import type { RecordKind } from '../contracts/records.ts'
import { createRegistry } from '../kernel/registry.ts'
import { OPERATOR, type TenantId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { LeaveReason, Registration } from '../contracts/registry.ts'
import type { Caller } from '../contracts/token.ts'
import { createRecords } from '../modules/records/service.ts'
import { recordedLinks } from '../modules/git/recorded-links.ts'
import { createGit } from '../modules/git/service.ts'
import { openCoordinator } from '../modules/coordinator/service.ts'
import { openPersonaRegistry, type PersonaRegistry } from '../modules/registry/personas.ts'
import { openProjects } from '../modules/registry/projects.ts'
import { createRegistrations } from '../modules/registry/registrations.ts'
import { createRouteResolver } from '../modules/registry/route.ts'
import { repositoryRoot } from '../modules/registry/scope.ts'
import type { RoutineModule, RoutineSettings } from '../modules/routines/service.ts'
import type { StepType } from '../modules/routines/step-type.ts'
import { createRuns } from '../modules/runs/service.ts'
import { sessionOf } from '../modules/signals/callers.ts'
import { createSignals, type SignalModule } from '../modules/signals/service.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Embedder } from '../ports/embedder.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { GitRunner } from '../ports/git.ts'
import type { Log } from '../ports/log.ts'
import type { Places } from '../ports/places.ts'
import type { Ids } from '../ports/random.ts'
import type { Spool } from '../ports/spool.ts'
import type { ProjectStore } from '../ports/project-store.ts'
import type { RecordStore } from '../ports/record-store.ts'
import type { SignalStore } from '../ports/signal-store.ts'
import type { Doors } from '../transports/doors.ts'
import { createChannels } from './channels.ts'
import { createConnections, type Connections } from './connections.ts'
import { createCriticalEvents } from './critical-events.ts'
import { createDaemonReports } from './daemon-reports.ts'
import { createLinks } from './links.ts'
import { createFigures } from './figures.ts'
import { createHubMetrics } from './metrics.ts'
import { createPush } from './push.ts'
import { leftBehindTaker } from './left-behind.ts'
import { openMemory } from './memory.ts'
import type { Notifier } from './notify.ts'
import { openRoutines, type Outside } from './routines.ts'
import { createSessionEnd } from './session-end.ts'
import { createTokens } from './tokens.ts'

export interface HubNeeds {
  tenant_id: TenantId
  version: string
  secrets: { operator_token: string; signing_key: string }
  stores: { signals: SignalStore; records: RecordStore; events: EventLog }
  /** The records in a project's directory; null where there is no such directory. */
  openProject: (root: string) => ProjectStore | null
  /** What others left for a hub that was away; nothing, where it is not said. */
  spool?: Spool
  /** What texts mean; null, or left out, where only their words are compared. */
  embedder?: Embedder | null
  places: Places
  git: GitRunner
  facades: readonly Facade[]
  /** Kinds of records that belong to no facade. */
  kinds?: readonly RecordKind[]
  plugins?: readonly PluginReport[]
  /** What of them is offered; only the facet `core` where it is not said. */
  grants?: Grants
  /** Lifetime in seconds of what an agent sends without a `ttl_s`; the default where absent. */
  signals_ttl_s?: number
  /** Told of each signal to the person. */
  notifier?: Notifier
  /** Routines, the leash and commands; none where it is not said. */
  settings?: RoutineSettings
  /** Types of steps beside the built-in ones. */
  steps?: readonly StepType[]
  outside: Outside
  clock: Clock
  ids: Ids
  log: Log
  /** Takes a line of logs/dispatch.jsonl. */
  line?: (line: DispatchLine) => void
  ownHosts(): readonly string[]
  /** Metrics of the process, as text; left out where several hubs share one. */
  processMetrics?: () => Promise<string>
}

export interface Hub {
  doors: Doors
  kernel: Kernel
  connections: Connections
  signals: SignalModule
  personas: PersonaRegistry
  routines: RoutineModule
  /** Calls over WebSocket, and of this process itself, that are not answered yet. */
  underway: Set<Promise<unknown>>
  isStopping(): boolean
  /** Before anybody can reach it. From now on /ready says 200. Takes back what a former run left leased. */
  start(): Promise<void>
  /** From now on /ready says 503 and nothing new is let in. */
  stopping(): void
  /** Ends every link and timer. The stores belong to who opened them. */
  close(): Promise<void>
}

export async function createHub(needs: HubNeeds): Promise<Hub> {
  const { clock, ids, log, stores } = needs
  const { signals: store, events } = stores
  const last = store.health().last_signal_id
  if (last !== null) ids.startAfter(last)

  const tokens = createTokens({ ...needs.secrets, tenant_id: needs.tenant_id, clock })
  const links = createLinks()
  const reports = createDaemonReports({ clock })
  const critical = createCriticalEvents({ clock })
  const channels = createChannels({ clock, ids, critical })
  const underway = new Set<Promise<unknown>>()
  let state: 'starting' | 'ready' | 'stopping' = 'starting'
  const started_at = clock.monotonic()
  const failed = (what: string, about: object) => (err: unknown) => {
    // The next hub does what a stop has cut off.
    if (state === 'stopping') log.info({ err, ...about }, what)
    else log.error({ err, ...about }, what)
  }
  let last_event_seq = 0

  const registrations = createRegistrations({
    clock,
    events: {
      joined(row) {
        if (row.kind === 'daemon') reports.heard(row.identity)
        push.registry.joined(row)
      },
      left(row, reason) {
        push.registry.left(row, reason)
        left(row, reason)
      },
    },
  })
  const routes = createRouteResolver(registrations)

  const push = createPush({
    ...{ links, channels, events, store, registrations, clock, ids },
    signals: {
      peek: (...asked) => signals.peek(...asked),
      inProgressCount: (identity) => signals.inProgressCount(identity),
      pendingCount: (...asked) => signals.pendingCount(...asked),
    },
  })
  const projects = await openProjects({ records: stores.records, places: needs.places, clock, ids, log })
  const personas = await openPersonaRegistry({
    ...{ records: stores.records, projects, registrations, clock, log },
    pendingCount: (identity) => store.pendingCount(identity),
    expiredCount: (identity) => store.expiredCount(identity),
    changed(persona) {
      push.personaChanged(persona)
      if (persona.state === 'active') return
      reports.forget(persona.identity)
      coordinator
        .personaEnded(persona.identity)
        .catch(failed('what an ended persona held could not be released', { identity: persona.identity }))
    },
  })
  const coordinator = await openCoordinator({
    ...{ records: stores.records, registrations, personas, events, clock, ids, log },
  })
  const runs = createRuns({ records: stores.records, events, clock, ids, log })
  const signals: SignalModule = createSignals({
    ...{ store, personas, routes, clock, ids, log },
    ...(needs.signals_ttl_s === undefined ? {} : { ttl_s: needs.signals_ttl_s }),
    subscribers: (topic) => coordinator.subscribers(topic),
    async caughtUp(identity) {
      const open = [...links.of(identity)].filter((link) => link.open)
      const heard = await Promise.all(open.map((link) => link.caughtUp(clock.monotonic())))
      return open.length > 0 && heard.every(Boolean)
    },
    events: {
      ...push.signals,
      pushed(signal) {
        push.signals.pushed(signal)
        if (signal.to === OPERATOR) needs.notifier?.notice(signal)
      },
    },
  })

  const records = createRecords({
    kinds: createRegistry(needs.facades, needs.kinds).kinds,
    ...{ home: stores.records, openProject: needs.openProject },
    ...{ projects, personas, events, clock, ids, log },
  })

  const memory = openMemory({
    ...{ home: stores.records, openProject: needs.openProject, projects, personas },
    ...{ records, events, embedder: needs.embedder, clock, ids, log },
  })

  /** A row ended. An agent's session ended with it, unless another row still holds the session. */
  const left = (row: Registration, reason: LeaveReason) => {
    if (row.kind === 'daemon') {
      const others = registrations.rows(row.identity).some(({ kind }) => kind === 'daemon')
      if (!others) reports.left(row.identity)
      return
    }
    const { identity, session_id } = row
    if (routes.sessions(identity).includes(session_id)) return
    sessions
      .lost(identity, session_id)
      .catch(failed('the leases of a lost session could not be released', { identity, reason }))
  }
  const sessions = createSessionEnd({
    ...{ registrations, routes },
    // A hub that stops ends every link; what is locked stays so until its holder is back, or its time is over.
    modules: () => (state === 'stopping' ? [signals] : [signals, coordinator]),
  })

  const git = createGit({
    ...{ git: needs.git, clock },
    rootOf: (asking) => repositoryRoot({ projects, personas }, asking),
    linksOf: (asking) => recordedLinks(records, asking),
  })

  const { routines, workflow } = openRoutines({
    ...{ outside: needs.outside, settings: needs.settings, steps: needs.steps },
    ...{ personas, projects, home: stores.records, clock, ids, log },
    kinds: records.kinds.list().map(({ kind }) => kind),
  })

  const kernel = createKernel({
    modules: {
      signals,
      personas,
      projects,
      records,
      ...memory.modules,
      git,
      coordinator,
      runs,
      routines,
      workflow,
      plugins: needs.plugins ?? [],
    },
    ...(needs.kinds === undefined ? {} : { kinds: needs.kinds }),
    ...{ facades: needs.facades, events, clock, ids, log },
    ...(needs.grants === undefined ? {} : { grants: needs.grants }),
    line(line) {
      metrics.dispatched(line)
      figures.dispatched(line)
      needs.line?.(line)
    },
    seen(caller: Caller) {
      coordinator.seen(caller)
      if (caller.kind !== 'agent') return
      const { identity } = caller
      const session_id = sessionOf(caller)
      signals.sessionSeen(identity, session_id)
      registrations.seen({ identity, session_id })
    },
  })

  const readiness = () => {
    if (state === 'starting') return { ready: false, reason: 'The hub is starting.' }
    if (state === 'stopping') return { ready: false, reason: 'The hub is stopping.' }
    const { writable, reason } = store.health()
    return writable
      ? { ready: true, reason: null }
      : { ready: false, reason: reason ?? 'The store takes no writes.' }
  }
  const uptime_s = () => (clock.monotonic() - started_at) / 1000

  const counted = {
    uptime_s,
    links: () => links.count(),
    store: () => store.health(),
    leases: () => store.leases().length,
    daemons: () => reports.current(),
  }
  const figures = createFigures({ ...counted, registrations, clock })
  const metrics = createHubMetrics({
    ...counted,
    tenant_id: needs.tenant_id,
    version: needs.version,
    ready: () => readiness().ready,
    personas: () => countBy(personas.list(), ({ state: persona_state }) => persona_state),
    criticalDropped: () => critical.dropped(),
    process: needs.processMetrics,
    isAction: (facade, action) =>
      kernel.registry.facades.some(({ name, actions }) => name === facade && Object.hasOwn(actions, action)),
  })
  const stopWatching = events.watch((event: HubEvent) => {
    last_event_seq = event.seq
    metrics.event(event)
    channels.mirror(event)
  })

  const connections = createConnections({
    ...{ tokens, personas, registrations, signals, push, links, channels, critical, reports, underway },
    ...{ clock, ids, log },
    dispatch: (request) => kernel.dispatch(request),
    lastEventSeq: () => last_event_seq,
    isStopping: () => state === 'stopping',
    counted: (what) => metrics.counted(what),
  })

  const doors: Doors = {
    ...{ events, log, clock, ids },
    authenticate: (token) => tokens.authenticate(token),
    endSession: (caller) => sessions.end(caller),
    issueToken: (caller, request) => tokens.issue(caller, request),
    health() {
      const status = state === 'ready' ? (readiness().ready ? 'ok' : 'degraded') : state
      return { status, version: needs.version, uptime_s: Math.round(uptime_s()), connected: links.count() }
    },
    readiness,
    metricsText: () => metrics.text(),
    ownHosts: () => needs.ownHosts(),
  }

  const takeLeftBehind =
    needs.spool === undefined
      ? undefined
      : leftBehindTaker({ spool: needs.spool, blackboard: memory.modules.blackboard, events, log })

  const timers: Timer[] = []
  let sweep_fails = false
  let swept_at = clock.monotonic()
  const sweep = () => {
    const before = swept_at
    swept_at = clock.monotonic()
    // It stood still itself, as in a stopped process: what was said meanwhile is heard before anybody counts as silent.
    if (swept_at - before > 2 * LIMITS.sweep_interval_ms) return
    registrations.sweep()
    connections.tick()
    Promise.all([signals.sweep(), coordinator.sweep(), takeLeftBehind?.()]).then(
      () => (sweep_fails = false),
      (err: unknown) => {
        // Said once, not every few seconds for as long as the store is down.
        if (!sweep_fails) failed('a sweep failed', {})(err)
        sweep_fails = true
      },
    )
  }

  return {
    doors,
    kernel,
    connections,
    signals,
    personas,
    routines,
    underway,
    isStopping: () => state === 'stopping',

    async start() {
      const { released } = await signals.start()
      if (released > 0) log.info({ released }, 'signals that a former run had handed out wait again')
      const { seq } = events.append({
        type: 'hub.started',
        agent_id: null,
        data: { version: needs.version, released },
      })
      last_event_seq = seq
      takeLeftBehind?.().catch(failed('what was left behind could not be taken in', {}))
      timers.push(
        clock.every(LIMITS.sweep_interval_ms, sweep),
        clock.every(LIMITS.memory_sweep_ms, () => {
          memory.modules.blackboard.sweep().catch(failed('what is too much could not be archived', {}))
        }),
        clock.every(LIMITS.outbox_sweep_ms, () => {
          memory.modules.decisions.sweep().catch(failed('what is owed of decisions could not be told', {}))
        }),
        clock.every(LIMITS.critical_check_ms, () => critical.check()),
        clock.every(LIMITS.metrics_channel_interval_ms, () => {
          if (channels.subscribers('metrics').size > 0) {
            channels.announce(['metrics'], 'metric.update', figures.snapshot())
          }
        }),
      )
      state = 'ready'
    },

    stopping() {
      if (state === 'stopping') return
      state = 'stopping'
      connections.announceStop()
    },

    async close() {
      state = 'stopping'
      for (const timer of timers.splice(0)) timer.cancel()
      await connections.close()
      await sessions.settled()
      await needs.spool?.close()
      await memory.close()
      stopWatching()
    },
  }
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1
  return counts
}
