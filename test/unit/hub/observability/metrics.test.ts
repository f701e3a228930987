import { afterEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { DAEMON_METRICS, DaemonErrorClass, type MetricsSet } from '../../../../src/contracts/metrics.ts'
import { HUB_COUNTERS, HUB_GAUGES } from '../../../../src/hub/observability/metrics.ts'
import { eventually } from '../../../support/eventually.ts'
import { liveHub, type Client, type LiveHub } from '../../../support/worlds/live-hub.ts'

let hub: LiveHub
afterEach(() => hub.close())

const scrape = async () => (await hub.http('GET', '/metrics')).text()
const value = (text: string, series: string) =>
  text
    .split('\n')
    .flatMap((line) => (line.startsWith(`${series} `) ? [Number(line.split(' ').at(-1))] : []))[0]
const series = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

const zeros = Object.fromEntries(
  DaemonErrorClass.options.map((name) => [name, 0]),
) as MetricsSet['errors_total']
const set = (told: Partial<MetricsSet> = {}): MetricsSet => ({
  ...{ up: 1, heartbeat_age_seconds: 1, drain_age_seconds: 2, signal_queue_depth: 3 },
  ...{ errors_total: zeros, last_error_timestamp_seconds: zeros },
  ...told,
})
async function report(daemon: Client, metrics: MetricsSet): Promise<void> {
  daemon.send({ type: 'heartbeat', seq: 1, metrics })
  await daemon.settled()
}

describe("the hub's metrics", () => {
  test("the hub's metrics exist from the start and begin with turnbell_hub_", async () => {
    hub = await liveHub()
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    const daemon = await hub.join('bob', 'daemon')
    await report(daemon, set())
    await hub.call('signals', 'send', { to: 'bob', intent: 'note' })
    const text = await scrape()
    for (const name of Object.keys({ ...HUB_COUNTERS, ...HUB_GAUGES })) {
      expect(text).toContain(`# TYPE turnbell_hub_${name} `)
    }
    const foreign = series(text).filter((line) => !/^(turnbell_hub_|daemon_)/.test(line))
    expect(foreign).toEqual([])
  })

  test("the hub's metrics count signals, calls, rejections, frames and links", async () => {
    hub = await liveHub()
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    for (let n = 0; n < 3; n++) await hub.call('signals', 'send', { to: 'bob', intent: 'note' })
    await hub.call('signals', 'pending', {}, hub.token('bob'))
    await hub.call('signals', 'send', { to: 'nobody', intent: 'x' }).catch(() => undefined)
    await hub.http('POST', '/call', { body: { tool: 'made_up_by_a_caller', params: {} } })
    const client = await hub.join('eve', 'observer')
    client.socket.send('garbage')
    await client.next('error')
    const text = await scrape()
    const read = (name: string) => value(text, `turnbell_hub_${name}`)
    expect(read('signals_total{stage="pushed"}')).toBe(3)
    expect(read('signals_total{stage="drained"}')).toBe(3)
    expect(read('refusals_total{code="target_unknown"}')).toBe(1)
    expect(read('dispatches_total{facade="signals",action="send",outcome="done"}')).toBe(3)
    expect(read('dispatches_total{facade="unknown",action="unknown",outcome="refused"}')).toBe(1)
    expect(read('links{kind="observer"}')).toBe(1)
    expect(read('frames_total{result="malformed"}')).toBe(1)
    expect(read('personas{state="active"}')).toBe(1)
    expect(read('leases')).toBe(1)
    expect(text).not.toContain('made_up_by_a_caller')
  })

  test("the hub's metrics need a token", async () => {
    hub = await liveHub()
    expect((await hub.http('GET', '/metrics', { token: null })).status).toBe(401)
  })
})

describe('a daemon on the metrics page', () => {
  const labels = '{tenant_id="local",identity="bob"}'

  test("a daemon's series show its last published values with its labels", async () => {
    hub = await liveHub()
    const daemon = await hub.join('bob', 'daemon')
    const errors_total = { ...zeros, surface_inject_failed: 4 }
    await report(
      daemon,
      set({ errors_total, last_error_timestamp_seconds: { ...zeros, surface_inject_failed: 99 } }),
    )
    const text = await scrape()
    expect(value(text, `daemon_up${labels}`)).toBe(1)
    expect(value(text, `daemon_signal_queue_depth${labels}`)).toBe(3)
    const byClass = (name: string) =>
      value(text, `${name}{tenant_id="local",identity="bob",error_class="surface_inject_failed"}`)
    expect([byClass('daemon_errors_total'), byClass('daemon_last_error_timestamp_seconds')]).toEqual([4, 99])
    const families = new Set(series(text).flatMap((line) => /^(daemon_\w+)/.exec(line)?.[1] ?? []))
    expect([...families].sort()).toEqual(Object.keys(DAEMON_METRICS).sort())
  })

  test("a daemon's series have a heartbeat age measured by the hub, and ages that grow between reports", async () => {
    hub = await liveHub()
    const daemon = await hub.join('bob', 'daemon')
    await report(daemon, set({ heartbeat_age_seconds: 500, drain_age_seconds: 10 }))
    await hub.clock.advance(4_000)
    const text = await scrape()
    expect(value(text, `daemon_heartbeat_age_seconds${labels}`)).toBe(4)
    expect(value(text, `daemon_drain_age_seconds${labels}`)).toBe(14)
  })

  test('a silent daemon shows 0 and its ages keep growing, whether its link broke or not', async () => {
    hub = await liveHub()
    const silent = await hub.join('bob', 'daemon')
    const gone = await hub.join('ann', 'daemon')
    await report(silent, set({ drain_age_seconds: 0 }))
    await report(gone, set({ drain_age_seconds: null }))
    gone.socket.terminate()
    await eventually('it left', () => hub.hub.api.health().connected.daemon === 1)
    expect(value(await scrape(), 'daemon_up{tenant_id="local",identity="ann"}')).toBe(0)
    await hub.clock.advance(LIMITS.registration_expire_ms + LIMITS.sweep_interval_ms)
    await hub.clock.advance(65_000)
    const text = await scrape()
    expect(value(text, `daemon_up${labels}`)).toBe(0)
    expect(value(text, `daemon_heartbeat_age_seconds${labels}`)).toBe(100)
    expect(value(text, `daemon_drain_age_seconds${labels}`)).toBe(100)
    expect(text).not.toMatch(/daemon_drain_age_seconds\{[^}]*ann/)
  })

  test('a replaced daemon of the same persona is one series, and up', async () => {
    hub = await liveHub()
    const first = await hub.join('bob', 'daemon', { session_id: 'd-1' })
    await report(first, set())
    const second = await hub.join('bob', 'daemon', { session_id: 'd-2' })
    await report(second, set({ signal_queue_depth: 8 }))
    const text = await scrape()
    expect(series(text).filter((line) => line.startsWith('daemon_up'))).toEqual([`daemon_up${labels} 1`])
    expect(value(text, `daemon_signal_queue_depth${labels}`)).toBe(8)
  })

  test("a daemon's series disappear when its persona is wrapped", async () => {
    hub = await liveHub()
    await hub.call('personas', 'add', { identity: 'bob', surface: 'command' })
    await report(await hub.join('bob', 'daemon'), set())
    await hub.call('personas', 'wrap', { identity: 'bob' })
    expect(series(await scrape()).filter((line) => line.startsWith('daemon_'))).toEqual([])
  })

  test('a daemon has at most twenty-four series: fifty personas have 1,200', async () => {
    hub = await liveHub()
    for (let n = 0; n < 50; n++) await report(await hub.join(`p${n}`, 'daemon'), set())
    expect(series(await scrape()).filter((line) => line.startsWith('daemon_'))).toHaveLength(1_200)
  })

  test('an invalid set of metrics is rejected, and the link stays open', async () => {
    hub = await liveHub()
    const daemon = await hub.join('bob', 'daemon')
    daemon.send({ type: 'heartbeat', seq: 1, metrics: { ...set(), errors_total: { made_up: 1 } } })
    expect(await daemon.next('error')).toMatchObject({ code: 'frame_invalid' })
    await daemon.settled()
    const observer = await hub.join('eve', 'observer')
    observer.send({ type: 'heartbeat', seq: 1, metrics: set() })
    await observer.settled()
    expect(series(await scrape()).filter((line) => line.startsWith('daemon_up'))).toHaveLength(1)
  })
})
