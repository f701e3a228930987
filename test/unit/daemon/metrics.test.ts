import { describe, expect, test } from 'vitest'
import { DAEMON_METRICS, DaemonErrorClass, MetricsSet } from '../../../src/contracts/metrics.ts'
import { createMetrics } from '../../../src/daemon/metrics.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

const NOTHING = { last_heartbeat_at: null, last_drain_at: null, pending_count: 0 }

function metricsOf(identity = 'ada', clock = fakeClock()) {
  return createMetrics({ tenant_id: 'local', identity, clock })
}

/** Returns samples as `name{labels} value`, without comments. */
function samples(text: string): { name: string; labels: Record<string, string>; value: number }[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', inside = '', value = ''] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? []
      const labels: Record<string, string> = {}
      for (const [, label = '', text = ''] of inside.matchAll(/(\w+)="([^"]*)"/g)) labels[label] = text
      return { name, labels, value: Number(value) }
    })
}

describe("the daemon's metrics", () => {
  test('the metric set has exactly six names, their exact labels, and every error class from the start', async () => {
    const found = samples(await metricsOf().text(NOTHING))
    expect([...new Set(found.map(({ name }) => name))].sort()).toEqual(Object.keys(DAEMON_METRICS).sort())
    for (const { name, labels } of found) {
      const spec = DAEMON_METRICS[name as keyof typeof DAEMON_METRICS]
      expect(Object.keys(labels).sort()).toEqual([...spec.labels].sort())
      expect(labels['identity']).toBe('ada')
    }
    const classes = (wanted: string) =>
      found.filter(({ name }) => name === wanted).map(({ labels, value }) => [labels['error_class'], value])
    const zeros = DaemonErrorClass.options.map((error_class) => [error_class, 0])
    expect(classes('daemon_errors_total')).toEqual(zeros)
    expect(classes('daemon_last_error_timestamp_seconds')).toEqual(zeros)
  })

  test('fifty personas produce 1,200 series, whichever errors occurred', async () => {
    let series = 0
    for (let n = 0; n < 50; n += 1) {
      const metrics = metricsOf(`persona-${n}`)
      for (const error_class of [...DaemonErrorClass.options, 'made up', '']) metrics.countError(error_class)
      series += samples(await metrics.text(NOTHING)).length
    }
    expect(series).toBe(1_200)
  })

  test('an unknown error class is counted as unclassified', async () => {
    const clock = fakeClock()
    const metrics = metricsOf('ada', clock)
    metrics.countError('disk on fire {"}')
    expect(metrics.lastErrorClass()).toBe('unclassified')
    const found = samples(await metrics.text(NOTHING)).filter(
      ({ labels }) => labels['error_class'] === 'unclassified',
    )
    expect(found.map(({ value }) => value).sort()).toEqual([1, clock.now() / 1000].sort())
  })

  test('the two ages grow with time, independently of each other', async () => {
    const clock = fakeClock()
    const metrics = metricsOf('ada', clock)
    await clock.advance(60_000)
    const reading = { last_heartbeat_at: 55_000, last_drain_at: 20_000, pending_count: 3 }
    expect(metrics.set(reading)).toMatchObject({
      heartbeat_age_seconds: 5,
      drain_age_seconds: 40,
      signal_queue_depth: 3,
    })
    await clock.advance(10_000)
    expect(metrics.set(reading)).toMatchObject({ heartbeat_age_seconds: 15, drain_age_seconds: 50 })
  })

  test('the ages count from the start of the daemon before the first heartbeat or drain', async () => {
    const clock = fakeClock()
    const metrics = metricsOf('ada', clock)
    await clock.advance(3_000)
    const set = metrics.set(NOTHING)
    expect(set).toMatchObject({ heartbeat_age_seconds: 3, drain_age_seconds: 3 })
    expect(MetricsSet.parse(set)).toEqual(set)
  })

  test('a stopping daemon reports up 0', async () => {
    const metrics = metricsOf()
    const up = (text: string) => samples(text).find(({ name }) => name === 'daemon_up')?.value
    expect(up(await metrics.text(NOTHING))).toBe(1)
    expect(up(await metrics.text(NOTHING, 0))).toBe(0)
  })
})
