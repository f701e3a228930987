/** Metrics of the hub and its daemons, as Prometheus text and as live figures on the channel `metrics`. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { TenantId } from '../../contracts/ids.ts'
import type { Kernel } from '../../kernel/dispatch.ts'
import type { PersonaRegistry } from '../../modules/registry/personas.ts'
import type { Registrations } from '../../modules/registry/registrations.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SignalStore } from '../../ports/signal-store.ts'
import type { Channels } from '../../transports/ws/channels.ts'
import type { Links } from '../../transports/ws/links.ts'
import type { Redelivery } from '../../transports/ws/redelivery.ts'
import type { HubModule } from '../hub-module.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { createDaemonReports, type DaemonReports } from './daemon-metrics.ts'
import { createFigures } from './live-metrics.ts'
import { createHubMetrics, type HubMetrics } from './metrics.ts'

export interface ObservabilityDeps {
  tenant_id: TenantId
  version: string
  lifecycle: Lifecycle
  store: Pick<SignalStore, 'health' | 'leases'>
  links: Pick<Links, 'count'>
  channels: Pick<Channels, 'subscribers' | 'announce'>
  redelivery: Pick<Redelivery, 'dropped'>
  registrations: Pick<Registrations, 'rows' | 'isFresh'>
  personas: Pick<PersonaRegistry, 'list'>
  kernel: Pick<Kernel, 'registry'>
  /** Metrics of the process, as text; absent where several hubs share one process. */
  processMetrics?: (() => Promise<string>) | undefined
  clock: Clock
}

export interface Observability {
  metrics: HubMetrics
  daemons: DaemonReports
  part: HubModule
}

export function createObservability(deps: ObservabilityDeps): Observability {
  const { lifecycle, store, links, registrations, personas, kernel, channels, redelivery, clock } = deps
  const daemons = createDaemonReports({ clock })
  const sources = {
    uptime_s: () => lifecycle.uptime_s(),
    links: () => links.count(),
    store: () => store.health(),
    leases: () => store.leases().length,
    daemons: () => daemons.current(),
  }
  const figures = createFigures({ ...sources, registrations, clock })
  const metrics = createHubMetrics({
    ...sources,
    tenant_id: deps.tenant_id,
    version: deps.version,
    ready: () => lifecycle.readiness().ready,
    personas: () => countBy(personas.list(), ({ state }) => state),
    criticalDropped: () => redelivery.dropped(),
    process: deps.processMetrics,
    isAction: (facade, action) =>
      kernel.registry.facades.some(({ name, actions }) => name === facade && Object.hasOwn(actions, action)),
  })
  const publishFigures = () => {
    if (channels.subscribers('metrics').size === 0) return
    channels.announce(['metrics'], 'metric.update', figures.snapshot())
  }
  return {
    metrics,
    daemons,
    part: {
      name: 'metrics',
      listener: {
        rowJoined({ kind, identity }) {
          if (kind === 'daemon') daemons.heard(identity)
        },
        rowLeft({ kind, identity }) {
          const has_daemon = registrations.rows(identity).some((row) => row.kind === 'daemon')
          if (kind === 'daemon' && !has_daemon) daemons.left(identity)
        },
        personaChanged({ state, identity }) {
          if (state !== 'active') daemons.forget(identity)
        },
        callFinished(line) {
          metrics.dispatched(line)
          figures.dispatched(line)
        },
        quotaRefused: (quota) => metrics.quotaRefused(quota),
      },
      jobs: [{ name: 'metrics channel', every_ms: LIMITS.metrics_channel_interval_ms, run: publishFigures }],
    },
  }
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1
  return counts
}
