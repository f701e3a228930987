/**
 * The last reported metrics of each daemon. A daemon that has stopped reporting is shown as down with growing ages, until
 * its persona is wrapped or removed.
 */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { MetricsSet } from '../../contracts/metrics.ts'
import type { Clock } from '../../ports/clock.ts'

export interface DaemonReports {
  /** Records a heartbeat with the daemon's metrics. */
  reported(identity: string, set: MetricsSet): void
  /** Records a join or a heartbeat without metrics. */
  heard(identity: string): void
  /** Records the end of the registration, for any reason. */
  left(identity: string): void
  /** Removes the daemon, because its persona is not active any more. */
  forget(identity: string): void
  /** Returns all reports; ages are extended by the time since the report. */
  current(): DaemonReport[]
}

export interface DaemonReport {
  identity: string
  up: boolean
  heartbeat_age_seconds: number
  /** Null until the daemon of this persona has reported a drain. */
  drain_age_seconds: number | null
  /** Null until the daemon has reported metrics. */
  set: MetricsSet | null
}

type ByClass = MetricsSet['errors_total']

interface Last {
  heard_at: number
  reported_at: number
  present: boolean
  set: MetricsSet | null
}

export function createDaemonReports({ clock }: { clock: Clock }): DaemonReports {
  const daemons = new Map<string, Last>()
  /** One shared object without errors, per list of error classes. */
  const without_errors = new Map<string, ByClass>()

  /** Returns a shared object if there are no errors, to save memory: most of thousands of daemons report none. */
  const shared = (counts: ByClass): ByClass => {
    if (Object.values(counts).some((count) => count !== 0)) return counts
    const classes = Object.keys(counts).sort().join()
    const known = without_errors.get(classes) ?? counts
    without_errors.set(classes, known)
    return known
  }

  const touch = (identity: string): Last => {
    const now = clock.monotonic()
    const last = daemons.get(identity) ?? { heard_at: now, reported_at: now, present: true, set: null }
    last.heard_at = now
    last.present = true
    daemons.set(identity, last)
    return last
  }

  return {
    reported(identity, set) {
      const last = touch(identity)
      last.set = {
        ...set,
        errors_total: shared(set.errors_total),
        last_error_timestamp_seconds: shared(set.last_error_timestamp_seconds),
      }
      last.reported_at = last.heard_at
    },
    heard: (identity) => void touch(identity),
    left(identity) {
      const last = daemons.get(identity)
      if (last) last.present = false
    },
    forget: (identity) => void daemons.delete(identity),
    current() {
      const now = clock.monotonic()
      return [...daemons].map(([identity, last]) => {
        const drained = last.set?.drain_age_seconds ?? null
        return {
          identity,
          up: last.present && now - last.heard_at <= LIMITS.registration_expire_ms,
          heartbeat_age_seconds: (now - last.heard_at) / 1000,
          drain_age_seconds: drained === null ? null : drained + (now - last.reported_at) / 1000,
          set: last.set,
        }
      })
    },
  }
}
