/**
 * Checks the metrics: a daemon's metrics against its own status when they are sent, and the hub's published metrics
 * against the received metrics and its store.
 */
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import type { ClientFrame } from '../../../src/contracts/frames.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { MetricsSet } from '../../../src/contracts/metrics.ts'
import { SOCKET, type FrameSocket } from '../../../src/ports/frame-socket.ts'
import { Violation } from '../../support/violation.ts'
import type { SimDaemon } from '../world/sim-daemon.ts'
import type { SimHub } from '../world/sim-hub.ts'

/** The last data that a hub received from a persona's daemon. */
interface Heard {
  socket: FrameSocket
  /** The hub's monotonic time, in milliseconds. */
  at: number
  /** Null until this link has received metrics. */
  set: MetricsSet | null
  /** When the metrics were received. */
  set_at: number
}

const PROMISE = 'metrics tell the truth'

export class MetricsWatch {
  /** Received data by persona. A stopped hub has its own copy and processes old frames when it resumes. */
  private readonly heard = new WeakMap<SimHub, Map<string, Heard>>()
  private readonly identities = new WeakMap<FrameSocket, string>()
  private readonly errors = new WeakMap<SimDaemon, MetricsSet['errors_total']>()
  /** Number of links that each daemon lost or failed to open. */
  private readonly links_lost = new WeakMap<SimDaemon, number>()
  readonly counts = { scrapes: 0 }

  onLink(daemon: SimDaemon, up: boolean): void {
    if (!up) this.links_lost.set(daemon, (this.links_lost.get(daemon) ?? 0) + 1)
  }

  /** Called when a daemon sends a frame. */
  onSaid(daemon: SimDaemon, frame: ClientFrame, status: DaemonStatus): void {
    if (frame.type !== 'heartbeat' || frame.metrics === undefined) return
    const { signal_queue_depth, heartbeat_age_seconds, errors_total } = frame.metrics
    const fail = (detail: string) => {
      throw new Violation(PROMISE, `${daemon.host.name}: ${detail}`)
    }
    if (signal_queue_depth !== status.pending_count)
      fail(`a depth of ${signal_queue_depth}, ${status.pending_count} pending`)
    const { last_heartbeat_age_s: age_s, last_error_class } = status
    if (age_s !== null && heartbeat_age_seconds !== age_s)
      fail(`a heartbeat ${heartbeat_age_seconds} s ago, and ${age_s} s ago`)
    const { last_drain_age_s } = status
    if (last_drain_age_s !== null && frame.metrics.drain_age_seconds !== last_drain_age_s)
      fail(`a drain ${frame.metrics.drain_age_seconds} s ago, and ${last_drain_age_s} s ago`)
    const counted = Object.entries(errors_total)
    if (last_error_class !== null && !counted.some(([name, count]) => name === last_error_class && count > 0))
      fail(`${last_error_class} was the last error, and none is counted`)
    const before: Partial<Record<string, number>> = this.errors.get(daemon) ?? {}
    for (const [error_class, count] of counted) {
      const former = before[error_class] ?? 0
      if (count < former) fail(`${error_class} went from ${former} to ${count}`)
    }
    this.errors.set(daemon, errors_total)
    const lost = this.links_lost.get(daemon) ?? 0
    const { ws_connect_failed = 0, ws_stream_stalled = 0 } = errors_total
    if (ws_connect_failed + ws_stream_stalled < lost)
      fail(`${ws_connect_failed} failed and ${ws_stream_stalled} stalled links, ${lost} were lost`)
  }

  /** Called when a frame reaches a hub. */
  onHeard(hub: SimHub, socket: FrameSocket, text: string): void {
    const heard = this.heard.get(hub) ?? new Map<string, Heard>()
    this.heard.set(hub, heard)
    const identity = this.identities.get(socket)
    if (identity === undefined) {
      const hello = JSON.parse(text) as ClientFrame
      if (hello.type !== 'hello' || hello.kind !== 'daemon') return
      this.identities.set(socket, hello.identity)
      const at = hub.host.clock.monotonic()
      heard.set(hello.identity, { socket, at, set: null, set_at: at })
      return
    }
    const known = heard.get(identity)
    if (known?.socket !== socket || !text.startsWith('{"type":"heartbeat"')) return
    const { metrics } = JSON.parse(text) as Extract<ClientFrame, { type: 'heartbeat' }>
    known.at = hub.host.clock.monotonic()
    if (metrics === undefined) return
    known.set = metrics
    known.set_at = known.at
  }

  /** Scrapes the hub and checks each metric. */
  async check(hub: SimHub, identities: readonly string[]): Promise<void> {
    this.counts.scrapes += 1
    const told = samplesIn(await hub.hub.api.metricsText())
    const same = (name: string, expected: number) => {
      const said = told.get(name)
      // A figure in seconds was converted to text and back.
      if (said === undefined || Math.abs(said - expected) > 1e-6)
        throw new Violation(PROMISE, `${hub.host.name}: ${name} is ${said ?? 'missing'}, and not ${expected}`)
    }
    // Counted one by one, because the store's own count is under test.
    const waiting = [...hub.store.pendingCounts().keys()].map(
      (identity) => hub.store.peek(identity, Infinity).length,
    )
    same(
      'turnbell_hub_signals_pending',
      waiting.reduce((sum, one) => sum + one, 0),
    )
    same('turnbell_hub_signals_stored', hub.store.health().signals)
    same('turnbell_hub_leases', hub.store.leases().length)
    for (const identity of identities) {
      const own = (name: string) => `${name}{tenant_id="local",identity="${identity}"}`
      const known = this.heard.get(hub)?.get(identity)
      const silent_ms = hub.host.clock.monotonic() - (known?.at ?? -Infinity)
      if (silent_ms > LIMITS.registration_expire_ms) {
        // A daemon that has only sent its hello may have been registered later than it arrived, because its persona was
        // created in between.
        if (told.has(own('daemon_up')) && known?.set !== null) same(own('daemon_up'), 0)
      } else if (known !== undefined && known.set !== null && known.socket.readyState === SOCKET.open) {
        same(own('daemon_up'), 1)
        same(own('daemon_heartbeat_age_seconds'), silent_ms / 1000)
        same(own('daemon_signal_queue_depth'), known.set.signal_queue_depth)
        const { drain_age_seconds: drained_s, errors_total, last_error_timestamp_seconds } = known.set
        const set_s = (hub.host.clock.monotonic() - known.set_at) / 1000
        if (drained_s !== null) same(own('daemon_drain_age_seconds'), drained_s + set_s)
        const by_class = {
          daemon_errors_total: errors_total,
          daemon_last_error_timestamp_seconds: last_error_timestamp_seconds,
        }
        for (const [name, values] of Object.entries(by_class))
          for (const [error_class, value] of Object.entries(values))
            same(`${name}{tenant_id="local",identity="${identity}",error_class="${error_class}"}`, value)
      }
    }
  }
}

/** Returns the samples by metric name with labels. */
function samplesIn(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  )
}
