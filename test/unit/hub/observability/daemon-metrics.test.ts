import { expect, test } from 'vitest'
import type { MetricsSet } from '../../../../src/contracts/metrics.ts'
import { createDaemonReports } from '../../../../src/hub/observability/daemon-metrics.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

const set = (errors: MetricsSet['errors_total'] = {}): MetricsSet => ({
  ...{ up: 1, heartbeat_age_seconds: 1, drain_age_seconds: null, signal_queue_depth: 0 },
  errors_total: { ws_connect_failed: 0, unclassified: 0, ...errors },
  last_error_timestamp_seconds: {},
})

test('error figures of a daemon are published unchanged, independent of other daemons', () => {
  const reports = createDaemonReports({ clock: fakeClock() })
  const sets = { ada: set(), bob: set(), cy: set({ unclassified: 2 }), dan: { ...set(), errors_total: {} } }
  for (const [identity, said] of Object.entries(sets)) reports.reported(identity, said)
  expect(Object.fromEntries(reports.current().map((one) => [one.identity, one.set]))).toEqual(sets)
})

test('daemons without an error share one object, because a hub has thousands of them', () => {
  const reports = createDaemonReports({ clock: fakeClock() })
  for (const identity of ['ada', 'bob']) reports.reported(identity, set())
  const [ada, bob] = reports.current().map((one) => one.set)
  expect(ada?.errors_total).toBe(bob?.errors_total)
  expect(ada?.last_error_timestamp_seconds).toBe(bob?.last_error_timestamp_seconds)
})
