/**
 * The daemon's six metrics. Values change immediately; the set is published periodically and at severe
 * transitions. Names, labels and error classes are closed lists (`contracts/metrics.ts`), so 50 personas
 * produce at most 1,200 series.
 */
import type * as prom from 'prom-client'
import { DAEMON_METRICS, DaemonErrorClass, type MetricsSet } from '../contracts/metrics.ts'
import type { Clock } from '../ports/clock.ts'

export interface MetricsReading {
  last_heartbeat_at: number | null
  last_drain_at: number | null
  pending_count: number
}

export interface DaemonMetrics {
  /** Counts an error. Unknown classes are counted as `unclassified`. */
  countError(error_class: string): void
  lastErrorClass(): DaemonErrorClass | null
  /** Monotonic milliseconds of the last error. */
  lastErrorAt(): number | null
  /** The metric set in the form that is sent to the hub. */
  set(reading: MetricsReading): MetricsSet
  /** The metric set in Prometheus text format. `up` is 0 in the last file that a stopping daemon writes. */
  text(reading: MetricsReading, up?: 0 | 1): Promise<string>
}

export interface MetricsOptions {
  tenant_id: string
  identity: string
  clock: Pick<Clock, 'now' | 'monotonic'>
}

export function createMetrics({ tenant_id, identity, clock }: MetricsOptions): DaemonMetrics {
  const own = { tenant_id, identity }
  const started_at = clock.monotonic()
  const counts = new Map<DaemonErrorClass, number>()
  const times = new Map<DaemonErrorClass, number>()
  let last: DaemonErrorClass | null = null
  let last_at: number | null = null
  let page: Page | null = null
  // Every class exists from the start, because `increase()` misses the first error of a counter that appears
  // with it. Its timestamp is 0 until then.
  for (const error_class of DaemonErrorClass.options) {
    counts.set(error_class, 0)
    times.set(error_class, 0)
  }

  /**
   * Seconds since the given time; before the first heartbeat or drain, the age of the daemon, so that alerts
   * work.
   */
  function age(since: number | null): number {
    return Math.max(0, (clock.monotonic() - (since ?? started_at)) / 1000)
  }

  return {
    countError(name) {
      const parsed = DaemonErrorClass.safeParse(name)
      const error_class = parsed.success ? parsed.data : 'unclassified'
      last = error_class
      last_at = clock.monotonic()
      counts.set(error_class, (counts.get(error_class) ?? 0) + 1)
      times.set(error_class, clock.now() / 1000)
    },
    lastErrorClass: () => last,
    lastErrorAt: () => last_at,
    set: (reading) => ({
      up: 1,
      heartbeat_age_seconds: age(reading.last_heartbeat_at),
      drain_age_seconds: age(reading.last_drain_at),
      signal_queue_depth: reading.pending_count,
      errors_total: Object.fromEntries(counts),
      last_error_timestamp_seconds: Object.fromEntries(times),
    }),
    async text(reading, is_up = 1) {
      page ??= pageOf((await import('prom-client')).default)
      const { registry, up, heartbeatAge, drainAge, depth, errors, lastError } = page
      up.set(own, is_up)
      heartbeatAge.set(own, age(reading.last_heartbeat_at))
      drainAge.set(own, age(reading.last_drain_at))
      depth.set(own, reading.pending_count)
      // A counter can only be increased, so it is reset first.
      errors.reset()
      for (const [error_class, count] of counts) errors.inc({ ...own, error_class }, count)
      for (const [error_class, at_s] of times) lastError.set({ ...own, error_class }, at_s)
      return registry.metrics()
    },
  }
}

type Page = ReturnType<typeof pageOf>

/**
 * Creates the Prometheus registry. prom-client is loaded at the first use, so that it does not delay the
 * sockets.
 */
function pageOf({ Counter, Gauge, Registry }: Pick<typeof prom, 'Counter' | 'Gauge' | 'Registry'>) {
  const registry = new Registry()
  const gauge = (name: Exclude<keyof typeof DAEMON_METRICS, 'daemon_errors_total'>) => {
    const { help, labels } = DAEMON_METRICS[name]
    return new Gauge({ name, help, labelNames: labels, registers: [registry] })
  }
  return {
    registry,
    up: gauge('daemon_up'),
    heartbeatAge: gauge('daemon_heartbeat_age_seconds'),
    drainAge: gauge('daemon_drain_age_seconds'),
    depth: gauge('daemon_signal_queue_depth'),
    lastError: gauge('daemon_last_error_timestamp_seconds'),
    errors: new Counter({
      name: 'daemon_errors_total',
      help: DAEMON_METRICS.daemon_errors_total.help,
      labelNames: DAEMON_METRICS.daemon_errors_total.labels,
      registers: [registry],
    }),
  }
}
