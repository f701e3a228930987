import type { SoakResult } from '../../soak/figures.ts'
import { nothingCounted } from '../../soak/ledger.ts'

/** Returns the result of a soak run with these signals and no other activity. */
export function result(signals: Partial<SoakResult['signals']>): SoakResult {
  return {
    ...{ home: '/home', broken: [], fate: null, scales: [], signals_watched: 0 },
    signals: { ...nothingCounted(), ...signals },
    mishaps: {
      ...{ hub: 0, daemon: 0, shim: 0, bridge: 0 },
      ...{ 'hub stands still': 0, 'daemon stands still': 0, 'bridge stands still': 0 },
    },
    restarts: { hub: 0, daemons: 0 },
    ...{ faults: null, strikes: {}, hub_mib_max: 0, refused_starts: 0 },
    agents: { bells: 0, taken: 0, turns: 0, deaths: 0, shims: 0, drains: 0 },
    calls: { asked: 0, lost: 0, refused: {} },
    disk: { journal: 4_096, hub: 0, logs: 0, whole: 4_096 },
  }
}
