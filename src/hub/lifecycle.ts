/** State of the hub (starting, ready, stopping), as reported by /health and /ready. */
import type { Clock } from '../ports/clock.ts'
import type { SignalStore } from '../ports/signal-store.ts'

export interface Lifecycle {
  /** From this call on, /ready returns 200. */
  started(): void
  /** Returns false if the hub was stopping already. */
  stopping(): boolean
  isStopping(): boolean
  /** Log level of failed background work: `info` while stopping, because the next hub repeats the interrupted work. */
  failureLevel(): 'info' | 'error'
  /** `ok` or `degraded` after the start. */
  status(): 'starting' | 'ok' | 'degraded' | 'stopping'
  /** `reason` is a sentence for a person, null while ready; `hint` is the next step. */
  readiness(): { ready: boolean; reason: string | null; hint?: string | null }
  uptime_s(): number
}

export function createLifecycle({
  clock,
  store,
}: {
  clock: Pick<Clock, 'monotonic'>
  store: Pick<SignalStore, 'health'>
}): Lifecycle {
  const started_at = clock.monotonic()
  let state: 'starting' | 'ready' | 'stopping' = 'starting'

  const readiness: Lifecycle['readiness'] = () => {
    if (state === 'starting') return { ready: false, reason: 'The hub is starting.' }
    if (state === 'stopping') return { ready: false, reason: 'The hub is stopping.' }
    const { writable, reason, hint } = store.health()
    if (writable) return { ready: true, reason: null }
    return { ready: false, reason: reason ?? 'The store is read-only.', hint }
  }

  return {
    started: () => void (state = 'ready'),
    stopping() {
      const is_first = state !== 'stopping'
      state = 'stopping'
      return is_first
    },
    isStopping: () => state === 'stopping',
    failureLevel: () => (state === 'stopping' ? 'info' : 'error'),
    status() {
      if (state !== 'ready') return state
      return readiness().ready ? 'ok' : 'degraded'
    },
    readiness,
    uptime_s: () => (clock.monotonic() - started_at) / 1000,
  }
}
