/** Figures of a soak run. */
import type { Home } from '../../src/system/config/home.ts'
import type { Violation } from '../support/violation.ts'
import type { Agent } from './agent.ts'
import type { Chaos } from './chaos.ts'
import type { Door } from './door.ts'
import type { Faults } from './faults/faults.ts'
import { bytesBelow } from './gauges.ts'
import type { Strikes } from './hostile/attacker.ts'
import type { Fate, Ledger } from './ledger.ts'
import type { Scale } from './scales.ts'
import type { Supervised } from './supervised.ts'

export interface SoakResult {
  /** Kept if a promise was broken. */
  home: string
  broken: Violation[]
  signals: Ledger['counts']
  /** Null if the run ended before all signals could be delivered: a promise was broken, or the run was interrupted. */
  fate: Fate | null
  mishaps: Chaos['counts']
  /** Number of faults of each kind; null on an ordinary day. */
  faults: Faults['counts'] | null
  /** Attacks of the hostile caller. */
  strikes: Strikes
  restarts: { hub: number; daemons: number }
  /** Number of starts that failed on a full or read-only disk. */
  refused_starts: number
  /** Peak resident memory of the hub over all its restarts, in MiB. */
  hub_mib_max: number
  agents: Agent['counts']
  calls: Door['counts']
  scales: Scale[]
  /** Number of receipts since the measurement of the hub began, without a kill. */
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

/** Returns the sums over all agents. */
export function countsOf(agents: Iterable<Agent>): Agent['counts'] {
  const sum = { bells: 0, taken: 0, turns: 0, deaths: 0, shims: 0, drains: 0 }
  for (const { counts } of agents) {
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name]
  }
  return sum
}
