/** Reads all visible state of a signal store, to compare two stores. */
import type { SignalStore } from '../../src/ports/signal-store.ts'

export const PERSONAS = ['ada', 'bob', 'carl']

/** Stages that are stored lazily are excluded, because a crash may lose them. */
export async function stateOf(store: SignalStore) {
  const { signals: views } = await store.query({ limit: 100_000 })
  return {
    views: views.map(({ stages: { pushed_at: _, rung_at: __, seen_at: ___, ...stages }, ...view }) => ({
      ...view,
      stages,
    })),
    waiting: PERSONAS.map((identity) => store.peek(identity, 100_000)),
    counts: PERSONAS.map((identity) => store.pendingCount(identity)),
    bodies: await Promise.all(PERSONAS.map((identity) => store.readPending(identity, 100_000))),
    depths: [...store.pendingCounts()].sort(),
    in_progress: await Promise.all(
      PERSONAS.map((identity) => store.inProgress(identity, { limit: 100_000 })),
    ),
    in_progress_counts: PERSONAS.map((identity) => store.inProgressCount(identity)),
    untold: await Promise.all(
      PERSONAS.map((identity) => store.inProgress(identity, { limit: 100_000, unnotified_except: ['s-1'] })),
    ),
    leases: store.leases().sort((a, b) => (a.drain_id < b.drain_id ? -1 : 1)),
    health: store.health(),
  }
}

export type StoreState = Awaited<ReturnType<typeof stateOf>>
