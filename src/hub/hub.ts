/**
 * The hub without its listening sockets: modules, kernel, WebSocket links and the bus between them. Time, randomness and
 * stores are passed in, so the simulation runs the same code as a real hub.
 */
import { OPERATOR, type TenantId } from '../contracts/ids.ts'
import { createKernel, type DispatchLine, type Kernel } from '../kernel/dispatch.ts'
import type { Grants } from '../kernel/policy.ts'
import type { Intake } from '../modules/activity/intake.ts'
import { teamViewFor } from '../modules/context/team-view.ts'
import type { PersonaRegistry } from '../modules/registry/personas.ts'
import type { RoutineModule } from '../modules/routines/service.ts'
import type { SignalModule } from '../modules/signals/types.ts'
import type { Spool } from '../ports/spool.ts'
import type { HubApi } from '../transports/hub-api.ts'
import { createQuotas, type Quotas } from '../transports/quotas.ts'
import type { Connections } from '../transports/ws/connections.ts'
import { createLinks, type Links } from '../transports/ws/links.ts'
import { createBus, type Bus } from './bus.ts'
import type { HubModule } from './hub-module.ts'
import { createJobs } from './jobs.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import { openModules, type HubModules, type ModuleDeps } from './modules.ts'
import type { Notifier } from './notify.ts'
import { createSessionEnd, type SessionEnd } from './session-end.ts'
import { spoolPart } from './spool-consumer.ts'
import { createTokens, type Tokens } from './tokens.ts'
import { openWebSocket, type HubWebSocket } from './websocket.ts'

export interface HubDeps extends ModuleDeps {
  tenant_id: TenantId
  version: string
  secrets: { operator_token: string; signing_key: string }
  /** Lines written by hooks and commands while no hub was running. Default: none. */
  spool?: Spool
  /** Facets and actions offered to agents. Default: the facet `core`. */
  grants?: Grants
  /** Receives each signal to the person. */
  notifier?: Notifier
  /** Receives each line of logs/dispatch.jsonl. */
  line?: (line: DispatchLine) => void
  ownHosts(): readonly string[]
  /** Metrics of the process, as text; absent where several hubs share one process. */
  processMetrics?: () => Promise<string>
}

export interface Hub {
  api: HubApi
  kernel: Kernel
  connections: Connections
  /** All modules, as facade handlers receive them; the three used most are also fields of the hub. */
  modules: HubModules['modules']
  signals: SignalModule
  personas: PersonaRegistry
  routines: RoutineModule
  /** Running calls over WebSocket and of this process itself. */
  underway: Set<Promise<unknown>>
  isStopping(): boolean
  /** Must be called before the first connection. Releases leases of the previous run; then /ready returns 200. */
  start(): Promise<void>
  /** From this call on, /ready returns 503 and new links and calls are rejected. */
  stopping(): void
  /** Closes every link and timer. The stores stay open: the caller of `createHub` closes them. */
  close(): Promise<void>
}

export async function createHub(deps: HubDeps): Promise<Hub> {
  const { clock, ids, log, stores } = deps
  const last = stores.signals.health().last_signal_id
  if (last !== null) ids.startAfter(last)

  const bus = createBus()
  const lifecycle = createLifecycle({ clock, store: stores.signals })
  const links = createLinks()
  const tokens = createTokens({ ...deps.secrets, tenant_id: deps.tenant_id, clock })
  const quotas = createQuotas((quota) => bus.emit.quotaRefused(quota))
  const opened = await openModules({
    ...deps,
    bus,
    lifecycle,
    flushInbound: (identity) => links.flushInbound(identity, clock.monotonic()),
  })
  const { modules, registrations, routes } = opened
  const kernel = createHubKernel(deps, modules, bus)
  const ws = openWebSocket({ ...deps, modules, registrations, kernel, links, tokens, quotas, lifecycle })
  const sessions = createSessionEnd({ registrations, routes, modules: opened.parts, lifecycle, log })
  const parts: HubModule[] = [
    ...ws.parts,
    sessions.part,
    ...opened.parts,
    personPart(deps.notifier),
    ...(deps.spool === undefined
      ? []
      : [
          spoolPart({
            spool: deps.spool,
            activity: deps.activity === undefined ? undefined : opened.intake,
            blackboard: modules.blackboard,
            events: stores.events,
            log,
          }),
        ]),
  ]
  for (const { listener } of parts) if (listener !== undefined) bus.listen(listener)
  const jobs = createJobs(parts, {
    clock,
    onFailed: (job, err) => log[lifecycle.failureLevel()]({ err, job }, 'job failed'),
  })
  const { signals, personas, routines } = modules

  return {
    api: createApi(deps, { tokens, quotas, lifecycle, links, sessions, ws, modules, intake: opened.intake }),
    kernel,
    connections: ws.connections,
    modules,
    signals,
    personas,
    routines,
    underway: ws.underway,
    isStopping: () => lifecycle.isStopping(),

    async start() {
      const { released } = await signals.start()
      if (released > 0) log.info({ released }, 'leases of the previous run released')
      const data = { version: deps.version, released }
      stores.events.append({ type: 'hub.started', agent_id: null, data })
      for (const part of parts) part.start?.()
      jobs.start()
      lifecycle.started()
    },

    stopping() {
      if (lifecycle.stopping()) ws.connections.announceStop()
    },

    async close() {
      lifecycle.stopping()
      jobs.stop()
      await ws.connections.close()
      await sessions.settled()
      for (const part of parts.toReversed()) await part.stop?.()
    },
  }
}

function createHubKernel(deps: HubDeps, modules: HubModules['modules'], { emit }: Bus): Kernel {
  const { facades, kinds, grants, stores, clock, ids, log } = deps
  return createKernel({
    modules,
    facades,
    ...(kinds === undefined ? {} : { kinds }),
    ...(grants === undefined ? {} : { grants }),
    events: stores.events,
    clock,
    ids,
    log,
    line(line) {
      emit.callFinished(line)
      deps.line?.(line)
    },
    seen: (caller) => emit.callerSeen(caller),
  })
}

interface ApiParts {
  tokens: Tokens
  quotas: Quotas
  lifecycle: Lifecycle
  links: Links
  sessions: SessionEnd
  ws: HubWebSocket
  modules: HubModules['modules']
  intake: Intake
}

function createApi(deps: HubDeps, parts: ApiParts): HubApi {
  const { clock, ids, log, stores } = deps
  const { tokens, quotas, lifecycle, links, sessions, ws, modules, intake } = parts
  return {
    events: stores.events,
    log,
    clock,
    ids,
    quotas,
    authenticate: (token) => tokens.authenticate(token),
    endSession: (caller) => sessions.end(caller),
    issueToken: (caller, request) => tokens.issue(caller, request),
    reportActivity: (caller, report) => intake.report(caller, report),
    reportHook: ({ identity }, client, body) => void intake.reportHook({ identity, client, body }),
    teamView: (caller) => teamViewFor(modules, caller),
    health: () => ({
      status: lifecycle.status(),
      version: deps.version,
      uptime_s: Math.round(lifecycle.uptime_s()),
      connected: links.count(),
    }),
    readiness: () => lifecycle.readiness(),
    metricsText: () => ws.metrics.text(),
    ownHosts: () => deps.ownHosts(),
  }
}

function personPart(notifier: Notifier | undefined): HubModule {
  return {
    name: 'notifications',
    listener: {
      pushed(signal) {
        if (signal.to === OPERATOR) notifier?.notice(signal)
      },
    },
  }
}
