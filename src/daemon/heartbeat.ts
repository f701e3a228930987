/**
 * The daemon's heartbeat, independent of any surface. The hub does not respond to heartbeats, so each one is
 * followed by a `ping`: frames are processed in order, so the `pong` confirms that the heartbeat was
 * accepted.
 */
import type { MetricsSet } from '../contracts/metrics.ts'
import type { SurfaceFacts } from '../contracts/registry.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { HubLink } from '../ports/hub-link.ts'

export interface HeartbeatOptions {
  clock: Pick<Clock, 'every' | 'monotonic'>
  link: Pick<HubLink, 'send'>
  facts: () => SurfaceFacts
  /** `last_accepted_at`: monotonic milliseconds of the last accepted heartbeat. */
  metrics: (last_accepted_at: number | null) => MetricsSet
  /**
   * Called if a heartbeat could not be sent, or the hub had not accepted the last one when the next was due.
   */
  onFailed: (detail: string) => void
}

export interface Heartbeat {
  /** Called when the link is up: beats immediately and then every `interval_ms`. */
  start(interval_ms: number): void
  stop(): void
  /** Sends an extra heartbeat when the hub should know about a change now. */
  beat(what: 'facts' | 'facts and metrics'): void
  accepted(): void
  /** Monotonic milliseconds of the last heartbeat that the hub accepted. */
  lastAccepted(): number | null
}

export function createHeartbeat({ clock, link, facts, metrics, onFailed }: HeartbeatOptions): Heartbeat {
  let timer: Timer | null = null
  let seq = 0
  let sent = 0
  let answered = 0
  /**
   * Number of heartbeats that must be accepted by the next tick. An extra heartbeat sent just before a tick
   * is not included.
   */
  let due = 0
  let accepted_at: number | null = null

  function beat(what: 'facts' | 'facts and metrics'): void {
    if (timer === null) return
    seq += 1
    const set = what === 'facts and metrics' ? { metrics: metrics(accepted_at) } : {}
    const taken =
      link.send({ type: 'heartbeat', seq, surface: facts(), ...set }) && link.send({ type: 'ping' })
    if (taken) sent += 1
    else onFailed('the heartbeat could not be sent over the link')
  }

  function tick(): void {
    if (answered < due) onFailed('the hub did not accept the last heartbeat')
    beat('facts and metrics')
    due = sent
  }

  function stop(): void {
    timer?.cancel()
    timer = null
  }

  return {
    start(interval_ms) {
      stop()
      sent = 0
      answered = 0
      // The hub chooses the interval, down to a minimum that keeps this daemon from flooding it.
      timer = clock.every(Math.max(interval_ms, LIMITS.heartbeat_interval_min_ms), tick)
      beat('facts and metrics')
      due = sent
    },
    stop,
    beat,
    accepted() {
      answered = Math.min(sent, answered + 1)
      accepted_at = clock.monotonic()
    },
    lastAccepted: () => accepted_at,
  }
}
