/** Live figures of the channel `metrics`, for dashboards. */
import type { DispatchLine } from '../../kernel/dispatch.ts'
import type { Registrations } from '../../modules/registry/registrations.ts'
import type { Clock } from '../../ports/clock.ts'
import type { MetricsSources } from './metrics.ts'

export interface Figures {
  /** Records a finished action. */
  dispatched(line: Pick<DispatchLine, 'duration_ms'>): void
  /** `…_per_minute` and `…_average_ms` cover the last minute. */
  snapshot(): Record<string, number>
}

interface FigureSources extends Pick<MetricsSources, 'uptime_s' | 'links' | 'store' | 'leases' | 'daemons'> {
  registrations: Pick<Registrations, 'rows' | 'isFresh'>
  clock: Pick<Clock, 'monotonic'>
}

export function createFigures(sources: FigureSources): Figures {
  const recent = lastMinute(sources.clock)

  return {
    dispatched: ({ duration_ms }) => recent.add(duration_ms),

    snapshot() {
      const { registrations } = sources
      const store = sources.store()
      const links = sources.links()
      const daemons = sources.daemons()
      const agents = registrations.rows().filter((row) => row.kind === 'agent' && registrations.isFresh(row))
      const calls = recent.sum()
      return {
        uptime_s: Math.round(sources.uptime_s()),
        sessions_active: new Set(agents.map(({ identity, session_id }) => `${identity} ${session_id}`)).size,
        agents_active: new Set(agents.map(({ identity }) => identity)).size,
        actions_per_minute: calls.count,
        action_average_ms: calls.count === 0 ? 0 : Math.round((calls.total_ms / calls.count) * 1000) / 1000,
        signals_pending: store.pending,
        signals_stored: store.signals,
        leases: sources.leases(),
        agents: links['agent'] ?? 0,
        daemons: links['daemon'] ?? 0,
        observers: links['observer'] ?? 0,
        daemons_up: daemons.filter(({ up }) => up).length,
        daemons_down: daemons.filter(({ up }) => !up).length,
      }
    },
  }
}

const SLOT_MS = 5_000
const SLOTS = 60_000 / SLOT_MS

/** Count and total duration of the last minute, in slots of `SLOT_MS`; memory use does not depend on the load. */
function lastMinute(clock: Pick<Clock, 'monotonic'>) {
  let slots: { slot: number; count: number; total_ms: number }[] = []
  const slotNow = () => Math.floor(clock.monotonic() / SLOT_MS)
  const recent = (now: number) => slots.filter(({ slot }) => slot > now - SLOTS)

  return {
    add(duration_ms: number): void {
      const now = slotNow()
      let last = slots.at(-1)
      if (last?.slot !== now) {
        last = { slot: now, count: 0, total_ms: 0 }
        slots = [...recent(now), last]
      }
      last.count += 1
      last.total_ms += duration_ms
    },
    sum: () =>
      recent(slotNow()).reduce(
        (all, { count, total_ms }) => ({ count: all.count + count, total_ms: all.total_ms + total_ms }),
        { count: 0, total_ms: 0 },
      ),
  }
}
