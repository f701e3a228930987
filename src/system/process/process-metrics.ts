/** Metrics of this process for Prometheus: processor time, memory, descriptors, event loop, garbage collections. */
import { collectDefaultMetrics, Registry } from 'prom-client'

/** Default gauges of prom-client that end in `_total`, which is reserved for counters. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

const watched = new Map<string, () => Promise<string>>()

/**
 * Returns a function that renders the metrics with this prefix. The first call starts to observe garbage collections,
 * for the life of the process; later calls return the same function.
 */
export function watchProcess(prefix: string): () => Promise<string> {
  const read = watched.get(prefix) ?? beginToWatch(prefix)
  watched.set(prefix, read)
  return read
}

function beginToWatch(prefix: string): () => Promise<string> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix })
  for (const name of MISNAMED) registry.removeSingleMetric(prefix + name)
  return () => registry.metrics()
}
