/** The WebSocket part of the hub: links, channels, pushes and their metrics. */
import type { Kernel } from '../kernel/dispatch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import type { Quotas } from '../transports/quotas.ts'
import { createChannels } from '../transports/ws/channels.ts'
import { createConnections, type Connections } from '../transports/ws/connections.ts'
import type { Links } from '../transports/ws/links.ts'
import { createPush } from '../transports/ws/push.ts'
import { createRedelivery } from '../transports/ws/redelivery.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { HubModule } from './hub-module.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { HubModules, ModuleDeps } from './modules.ts'
import type { HubMetrics } from './observability/metrics.ts'
import { createObservability, type ObservabilityDeps } from './observability/observability.ts'
import type { Tokens } from './tokens.ts'

export interface HubWebSocket {
  connections: Connections
  metrics: HubMetrics
  /** Running calls. */
  underway: Set<Promise<unknown>>
  /** In the order in which they receive events. */
  parts: HubModule[]
}

export interface WebSocketDeps extends Pick<ObservabilityDeps, 'tenant_id' | 'version' | 'processMetrics'> {
  stores: Pick<ModuleDeps['stores'], 'signals' | 'events'>
  modules: Pick<HubModules['modules'], 'signals' | 'personas'>
  registrations: HubModules['registrations']
  kernel: Kernel
  links: Links
  tokens: Tokens
  quotas: Quotas
  lifecycle: Lifecycle
  clock: Clock
  ids: Ids
  log: Log
}

export function openWebSocket(deps: WebSocketDeps): HubWebSocket {
  const { clock, ids, log, registrations, kernel, links, tokens, quotas, lifecycle } = deps
  const { signals: store, events } = deps.stores
  const { signals, personas } = deps.modules
  const redelivery = createRedelivery({ clock })
  const channels = createChannels({ clock, ids, critical: redelivery })
  const push = createPush({ links, channels, events, store, registrations, signals, clock, ids })
  const { metrics, daemons, part } = createObservability({
    ...deps,
    ...{ store, channels, redelivery, registrations, personas },
  })
  const underway = new Set<Promise<unknown>>()
  let last_event_seq = 0
  const stopWatching = events.watch((event) => {
    last_event_seq = event.seq
    metrics.event(event)
    channels.mirror(event)
  })
  const connections = createConnections({
    tokens,
    personas,
    registrations,
    signals,
    push,
    links,
    channels,
    critical: redelivery,
    daemon_metrics: daemons,
    underway,
    clock,
    ids,
    log,
    quotas,
    dispatch: (request) => kernel.dispatch(request),
    queue: kernel.queue,
    lastEventSeq: () => last_event_seq,
    isStopping: () => lifecycle.isStopping(),
    counted: (what) => metrics.counted(what),
  })
  const links_part: HubModule = {
    name: 'links',
    listener: {
      ...push.signals,
      rowJoined: (row) => push.registry.joined(row),
      rowLeft: (row, reason) => push.registry.left(row, reason),
      personaChanged: (persona) => push.personaChanged(persona),
    },
    jobs: [{ name: 'redelivery', every_ms: LIMITS.critical_check_ms, run: () => redelivery.check() }],
    sweep: () => connections.tick(),
    stop: stopWatching,
  }
  // Metrics first, so that a joining daemon is counted before it is announced.
  return { connections, metrics, underway, parts: [part, links_part] }
}
