/** What Node tells of its own process, for Prometheus: processor time, memory, descriptors, the event loop, collections. */
import { collectDefaultMetrics, Registry } from 'prom-client'

/** Default gauges of prom-client that end in `_total`, which is for counters only. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

const watched = new Map<string, () => Promise<string>>()

/**
 * Answers what a scrape reads, each name behind this prefix. It watches the process's garbage collections from the first
 * call on, and nothing ends that; later calls answer the same.
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
