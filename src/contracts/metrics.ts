/**
 * The daemon's metric set: six names, two labels, ten error classes. Fixed, so that fifty personas give at most 50 x (4
 * + 2 x 10) = 1,200 series.
 */
import * as z from 'zod'

export const DaemonErrorClass = z.enum([
  'ws_connect_failed',
  'ws_stream_stalled',
  'pending_reconcile_failed',
  'surface_unavailable',
  'surface_inject_failed',
  'ipc_bind_failed',
  'ipc_auth_failed',
  'heartbeat_publish_failed',
  'config_invalid',
  'unclassified',
])
export type DaemonErrorClass = z.infer<typeof DaemonErrorClass>

interface MetricSpec {
  type: 'gauge' | 'counter'
  labels: readonly string[]
  help: string
}

const OWN = ['tenant_id', 'identity'] as const
const BY_CLASS = ['tenant_id', 'identity', 'error_class'] as const

export const DAEMON_METRICS = {
  daemon_up: {
    type: 'gauge',
    labels: OWN,
    help: '1 while the daemon reports, 0 once it has stopped reporting.',
  },
  daemon_heartbeat_age_seconds: {
    type: 'gauge',
    labels: OWN,
    help: 'Seconds since the hub accepted the last heartbeat: is the process and its link alive.',
  },
  daemon_drain_age_seconds: {
    type: 'gauge',
    labels: OWN,
    help: 'Seconds since the agent last drained its queue: is work being taken.',
  },
  daemon_signal_queue_depth: { type: 'gauge', labels: OWN, help: 'Signals waiting to be drained.' },
  daemon_errors_total: { type: 'counter', labels: BY_CLASS, help: 'Errors by class.' },
  daemon_last_error_timestamp_seconds: {
    type: 'gauge',
    labels: BY_CLASS,
    help: 'Unix time of the last error of a class.',
  },
} as const satisfies Record<string, MetricSpec>

const ByClass = z.partialRecord(DaemonErrorClass, z.number().min(0))

/** Metric values of one daemon, sent with the heartbeat. Ages are null until known. */
export const MetricsSet = z.strictObject({
  up: z.literal(1),
  heartbeat_age_seconds: z.number().min(0).nullable(),
  drain_age_seconds: z.number().min(0).nullable(),
  signal_queue_depth: z.number().int().min(0),
  errors_total: ByClass,
  last_error_timestamp_seconds: ByClass,
})
export type MetricsSet = z.infer<typeof MetricsSet>
