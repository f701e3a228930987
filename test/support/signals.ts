/** Creates signals and ids, identical in every run. */
import type { Signal } from '../../src/contracts/signal.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Lease } from '../../src/ports/signal-store.ts'
import { createIds } from '../../src/system/random.ts'
import { seededRandom } from './fakes/fake-clock.ts'

export const DAY_MS = 86_400_000

export interface SignalMaker {
  id(): string
  /** Returns a new signal from ada to bob with a lifetime of one day. */
  signal(what?: Partial<Signal>): Signal
  lease(session_id?: string): Lease
  /** Returns the time `later_ms` from now. */
  at(later_ms?: number): string
}

export function signalMaker(clock: Pick<Clock, 'now'>, seed = 1): SignalMaker {
  const ids = createIds(clock, seededRandom(seed))
  const at = (later_ms = 0) => new Date(clock.now() + later_ms).toISOString()
  return {
    id: () => ids.next(),
    at,
    signal: (what = {}) => ({
      signal_id: ids.next(),
      to: 'bob',
      from: 'ada',
      origin: 'agent',
      intent: 'note',
      payload: { text: 'hello' },
      priority: 3,
      created_at: at(),
      expires_at: at(DAY_MS),
      ...what,
    }),
    lease: (session_id = 'session-1') => ({ drain_id: ids.next(), session_id }),
  }
}
