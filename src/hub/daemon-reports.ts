/**
 * What daemons last told of themselves. A daemon that has stopped reporting keeps its place here: it is
 * shown as down and its ages go on growing, until its persona is wrapped or removed.
 */
import { LIMITS } from '../contracts/limits.ts'
import type { MetricsSet } from '../contracts/metrics.ts'
import type { Clock } from '../ports/clock.ts'

export interface DaemonReports {
  /** A heartbeat was accepted that carried the daemon's metrics. */
  reported(identity: string, set: MetricsSet): void
  /** A join or a heartbeat without metrics. */
  heard(identity: string): void
  /** Its registration ended, whatever the reason. */
  left(identity: string): void
  /** Its persona is not meant to have a daemon any more. */
  forget(identity: string): void
  /** As of now: ages have grown since they were reported. */
  current(): DaemonReport[]
}

export interface DaemonReport {
  identity: string
  up: boolean
  heartbeat_age_seconds: number
  /** Null until a daemon of this persona has seen a drain. */
  drain_age_seconds: number | null
  /** Null for a daemon that has not published a set yet. */
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
  /** By the classes that they name. */
  const without_errors = new Map<string, ByClass>()

  /** Most daemons have had no error, and thousands of them say so at once: one object is enough for that. */
  const asOthersSay = (counts: ByClass): ByClass => {
    if (Object.values(counts).some((count) => count !== 0)) return counts
    const classes = Object.keys(counts).sort().join()
    const known = without_errors.get(classes) ?? counts
    without_errors.set(classes, known)
    return known
  }

  const hear = (identity: string): Last => {
    const now = clock.monotonic()
    const last = daemons.get(identity) ?? { heard_at: now, reported_at: now, present: true, set: null }
    last.heard_at = now
    last.present = true
    daemons.set(identity, last)
    return last
  }

  return {
    reported(identity, set) {
      const last = hear(identity)
      last.set = {
        ...set,
        errors_total: asOthersSay(set.errors_total),
        last_error_timestamp_seconds: asOthersSay(set.last_error_timestamp_seconds),
      }
      last.reported_at = last.heard_at
    },
    heard: (identity) => void hear(identity),
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
