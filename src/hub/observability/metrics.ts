/**
 * All metrics of the hub in one table, and the last reported metrics of every daemon.
 *
 * Label values come from closed lists (kinds, stages, causes, error codes, declared actions), so callers cannot create new
 * series. The six metric families of daemons are defined in `contracts/metrics.ts`.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { HubEvent } from '../../contracts/events.ts'
import type { TenantId } from '../../contracts/ids.ts'
import { DAEMON_METRICS } from '../../contracts/metrics.ts'
import type { DispatchLine } from '../../kernel/dispatch.ts'
import type { StoreHealth } from '../../ports/signal-store.ts'
import type { QuotaKind } from '../../transports/quotas.ts'
import type { DaemonReport } from './daemon-metrics.ts'

export const HUB_METRICS_PREFIX = 'turnbell_hub_'

/** Counters, updated by events. */
export const HUB_COUNTERS = {
  signals_total: { help: 'Signals by what happened to them.', labels: ['stage'] },
  releases_total: { help: 'Drained signals that became pending again, by cause.', labels: ['cause'] },
  doorbells_total: { help: 'Doorbells reported by daemons, by stage.', labels: ['stage'] },
  peers_total: {
    help: 'Started and ended registrations, by kind and reason.',
    labels: ['kind', 'change'],
  },
  dispatches_total: { help: 'Calls of actions by outcome.', labels: ['facade', 'action', 'outcome'] },
  refusals_total: { help: 'Rejected and failed calls, by error code.', labels: ['code'] },
  frames_total: { help: 'WebSocket frames from clients.', labels: ['result'] },
  links_total: { help: 'WebSocket links by outcome of the handshake.', labels: ['result'] },
  shares_refused_total: {
    help: 'Connections, requests, streams and links rejected because a quota of the caller is used up, by quota.',
    labels: ['share'],
  },
} as const

/** Gauges, read when Prometheus scrapes. */
export const HUB_GAUGES = {
  info: { help: 'Always 1; the label has the version.', labels: ['version'] },
  uptime_seconds: { help: 'Seconds since the hub started.', labels: [] },
  ready: { help: '1 while /ready answers 200.', labels: [] },
  links: { help: 'Open WebSocket links by kind.', labels: ['kind'] },
  personas: { help: 'Personas by state.', labels: ['state'] },
  signals_stored: { help: 'Signals in the store, including finished ones.', labels: [] },
  signals_pending: { help: 'Pending signals of all personas.', labels: [] },
  leases: { help: 'Drains that are not confirmed.', labels: [] },
  store_writable: { help: '0 if the store is read-only.', labels: [] },
  critical_events_dropped: { help: 'Critical events that a client never acknowledged.', labels: [] },
} as const

const DISPATCH_SECONDS = {
  name: `${HUB_METRICS_PREFIX}dispatch_duration_seconds`,
  help: 'Duration of actions until their output is ready to be sent.',
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
}

export interface MetricsSources {
  tenant_id: TenantId
  version: string
  uptime_s(): number
  ready(): boolean
  links(): Record<string, number>
  personas(): Record<string, number>
  store(): StoreHealth
  leases(): number
  criticalDropped(): number
  daemons(): DaemonReport[]
  /** Metrics of the process, as Prometheus text. */
  process?: (() => Promise<string>) | undefined
  /** Returns whether the action is declared; others are counted as `unknown`. The result for a name never changes. */
  isAction(facade: string, action: string): boolean
}

export interface HubMetrics {
  text(): Promise<string>
  /** Counts an event of the event stream. */
  event(event: HubEvent): void
  dispatched(line: DispatchLine): void
  counted(what: 'frame' | 'frame_malformed' | 'link_accepted' | 'link_refused'): void
  quotaRefused(quota: QuotaKind): void
}

type Counters = { [K in keyof typeof HUB_COUNTERS]: Counter }

export function createHubMetrics(sources: MetricsSources): HubMetrics {
  const registry = new Registry()
  const counters = Object.fromEntries(
    Object.entries(HUB_COUNTERS).map(([name, { help, labels }]) => [
      name,
      new Counter({ name: HUB_METRICS_PREFIX + name, help, labelNames: labels, registers: [registry] }),
    ]),
  ) as Counters
  const seconds = new Histogram({ ...DISPATCH_SECONDS, registers: [registry] })
  const dispatches = dispatchCounters(counters.dispatches_total, sources)
  declareGauges(registry, sources)
  declareDaemons(registry, sources)

  return {
    async text() {
      const [own, ofProcess] = await Promise.all([registry.metrics(), sources.process?.() ?? ''])
      return own + ofProcess
    },

    event({ type, data }) {
      // Types without a dot are calls, which `dispatched` counts.
      if (!type.includes('.')) return
      const [family, what = ''] = type.split('.')
      const signals = Array.isArray(data['signal_ids']) ? data['signal_ids'].length : 1
      if (family === 'signal') counters.signals_total.inc({ stage: what }, signals)
      if (type === 'signal.released') counters.releases_total.inc({ cause: text(data['cause']) }, signals)
      if (family === 'doorbell') counters.doorbells_total.inc({ stage: what })
      if (family === 'peer') {
        counters.peers_total.inc({ kind: text(data['kind']), change: text(data['reason'] ?? 'joined') })
      }
    },

    dispatched({ facade, action, success, error, duration_ms }) {
      dispatches(facade, action)[success ? 'done' : 'refused'].inc()
      if (error !== undefined) counters.refusals_total.inc({ code: error })
      seconds.observe(duration_ms / 1000)
    },

    quotaRefused: (quota) => counters.shares_refused_total.inc({ share: quota }),

    counted(what) {
      if (what === 'frame') counters.frames_total.inc({ result: 'received' })
      else if (what === 'frame_malformed') counters.frames_total.inc({ result: 'malformed' })
      else counters.links_total.inc({ result: what === 'link_accepted' ? 'accepted' : 'refused' })
    },
  }
}

interface Outcomes {
  done: Counter.Internal
  refused: Counter.Internal
}

/** Memoizes the two series of each action, because a lookup by labels costs more than the increment. */
function dispatchCounters(counter: Counter, { isAction }: Pick<MetricsSources, 'isAction'>) {
  const outcomes = (facade: string, action: string): Outcomes => ({
    done: counter.labels({ facade, action, outcome: 'done' }),
    refused: counter.labels({ facade, action, outcome: 'refused' }),
  })
  const unknown = outcomes('unknown', 'unknown')
  const known = new Map<string, Outcomes>()
  return (facade: string, action: string): Outcomes => {
    const key = `${facade}.${action}`
    const found = known.get(key)
    if (found !== undefined) return found
    // Undeclared names come from callers and are unbounded, so they are not memoized.
    if (!isAction(facade, action)) return unknown
    const made = outcomes(facade, action)
    known.set(key, made)
    return made
  }
}

function declareGauges(registry: Registry, sources: MetricsSources): void {
  const values: { [K in keyof typeof HUB_GAUGES]: () => number | Record<string, number> } = {
    info: () => ({ [sources.version]: 1 }),
    uptime_seconds: () => sources.uptime_s(),
    ready: () => (sources.ready() ? 1 : 0),
    links: () => sources.links(),
    personas: () => sources.personas(),
    signals_stored: () => sources.store().signals,
    signals_pending: () => sources.store().pending,
    leases: () => sources.leases(),
    store_writable: () => (sources.store().writable ? 1 : 0),
    critical_events_dropped: () => sources.criticalDropped(),
  }
  for (const [name, { help, labels }] of Object.entries(HUB_GAUGES)) {
    const read = values[name as keyof typeof HUB_GAUGES]
    const [label] = labels as readonly string[]
    new Gauge({
      name: HUB_METRICS_PREFIX + name,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        const value = read()
        this.reset()
        if (typeof value === 'number') this.set(value)
        else for (const [key, count] of Object.entries(value)) this.set({ [label as string]: key }, count)
      },
    })
  }
}

/** Declares the metric families of daemons with the labels of `DAEMON_METRICS`. */
function declareDaemons(registry: Registry, sources: MetricsSources): void {
  const byPersona: Record<string, (report: DaemonReport) => number | null> = {
    daemon_up: ({ up }) => (up ? 1 : 0),
    daemon_heartbeat_age_seconds: ({ heartbeat_age_seconds }) => heartbeat_age_seconds,
    daemon_drain_age_seconds: ({ drain_age_seconds }) => drain_age_seconds,
    daemon_signal_queue_depth: ({ set }) => set?.signal_queue_depth ?? null,
  }
  const byClass: Record<string, (report: DaemonReport) => object> = {
    daemon_errors_total: ({ set }) => set?.errors_total ?? {},
    daemon_last_error_timestamp_seconds: ({ set }) => set?.last_error_timestamp_seconds ?? {},
  }
  for (const [name, { type, help, labels }] of Object.entries(DAEMON_METRICS)) {
    const common = { name, help, labelNames: labels, registers: [registry] }
    const read = byPersona[name]
    const readClasses = byClass[name]
    const collect = (set: (labels: Record<string, string>, value: number) => void) => {
      for (const report of sources.daemons()) {
        const own = { tenant_id: sources.tenant_id, identity: report.identity }
        const value = read?.(report) ?? null
        if (value !== null) set(own, value)
        for (const [error_class, count] of Object.entries(readClasses?.(report) ?? {})) {
          set({ ...own, error_class }, count as number)
        }
      }
    }
    if (type === 'counter') {
      new Counter({
        ...common,
        collect() {
          // The daemon counts; the hub exports the last reported value.
          this.reset()
          collect((labelled, value) => this.inc(labelled, value))
        },
      })
    } else {
      new Gauge({
        ...common,
        collect() {
          this.reset()
          collect((labelled, value) => this.set(labelled, value))
        },
      })
    }
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : 'unknown'
}
