/**
 * The daemon's own sign of life, apart from any surface's. The hub answers no heartbeat, so each is
 * followed by a `ping`: frames are taken in order, and its `pong` says that the heartbeat was accepted.
 */
import type { MetricsSet } from '../contracts/metrics.ts'
import type { SurfaceFacts } from '../contracts/registry.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { HubLink } from '../ports/hub-link.ts'

export interface HeartbeatOptions {
  clock: Pick<Clock, 'every' | 'monotonic'>
  link: Pick<HubLink, 'send'>
  facts: () => SurfaceFacts
  metrics: () => MetricsSet
  /** It could not be sent, or the hub had not accepted the last one when the next was due. */
  onFailed: (detail: string) => void
}

export interface Heartbeat {
  /** The link is up: beats at once and then every `interval_ms`. */
  start(interval_ms: number): void
  stop(): void
  /** Out of turn, when the hub should know now. */
  beat(what: 'facts' | 'facts and metrics'): void
  accepted(): void
  /** Monotonic milliseconds of the last one the hub accepted. */
  lastAccepted(): number | null
}

export function createHeartbeat({ clock, link, facts, metrics, onFailed }: HeartbeatOptions): Heartbeat {
  let timer: Timer | null = null
  let seq = 0
  let sent = 0
  let answered = 0
  /** What must have been answered by the next turn: out of turn, a beat may have left a moment before it. */
  let due = 0
  let accepted_at: number | null = null

  function beat(what: 'facts' | 'facts and metrics'): void {
    if (timer === null) return
    seq += 1
    const set = what === 'facts and metrics' ? { metrics: metrics() } : {}
    const taken =
      link.send({ type: 'heartbeat', seq, surface: facts(), ...set }) && link.send({ type: 'ping' })
    if (taken) sent += 1
    else onFailed('the link took no heartbeat')
  }

  function tick(): void {
    if (answered < due) onFailed('the hub has not accepted the last heartbeat')
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
      // The interval is the hub's to choose, but not so that we would flood it.
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
