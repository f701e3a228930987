/** What a soak counts. */
import type { Home } from '../../src/system/home.ts'
import type { Violation } from '../support/violation.ts'
import type { Agent } from './agent.ts'
import type { Chaos } from './chaos.ts'
import type { Door } from './door.ts'
import { bytesBelow } from './gauges.ts'
import type { Fate, Ledger } from './ledger.ts'
import type { Scale } from './scales.ts'
import type { Supervised } from './supervised.ts'

export interface SoakResult {
  /** Kept where a promise was broken. */
  home: string
  broken: Violation[]
  signals: Ledger['counts']
  /** Null where the day ended before everything could arrive: a promise was broken, or somebody interrupted it. */
  fate: Fate | null
  mishaps: Chaos['counts']
  restarts: { hub: number; daemons: number }
  agents: Agent['counts']
  calls: Door['counts']
  scales: Scale[]
  /** Receipts since the hub is watched, and was not killed. */
  signals_watched: number
  /** In bytes. */
  disk: { journal: number; hub: number; logs: number; whole: number }
}

export function diskBelow({ root, hub_dir, hub_journal, logs_dir }: Home): SoakResult['disk'] {
  const journal = bytesBelow(hub_journal)
  const hub = bytesBelow(hub_dir) - journal
  return { journal, hub, logs: bytesBelow(logs_dir), whole: bytesBelow(root) }
}

export function restartsOf(hub: Supervised, daemons: Iterable<Supervised>): SoakResult['restarts'] {
  const again = ({ starts }: Supervised) => Math.max(0, starts - 1)
  return { hub: again(hub), daemons: [...daemons].reduce((sum, daemon) => sum + again(daemon), 0) }
}

/** All agents together. */
export function countsOf(agents: Iterable<Agent>): Agent['counts'] {
  const sum = { bells: 0, taken: 0, turns: 0, deaths: 0, shims: 0, drains: 0 }
  for (const { counts } of agents) {
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name]
  }
  return sum
}
