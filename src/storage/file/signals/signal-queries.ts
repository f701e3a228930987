/** Operations that only read: queues, leases, signals in progress, and views of single signals. */
import type { SignalStore } from '../../../ports/signal-store.ts'
import type { OperationContext } from './operation-context.ts'
import { FLAG } from './index/signal-rows.ts'

type Query =
  | 'peek'
  | 'newestPending'
  | 'pendingCount'
  | 'readPending'
  | 'inProgressCount'
  | 'inProgress'
  | 'leases'
  | 'expiredCount'
  | 'unnotifiedExpired'
  | 'read'
  | 'query'
  | 'pendingCounts'
  | 'health'

export function createQueries(context: OperationContext): Pick<SignalStore, Query> {
  const { index, journal, clock, reader } = context
  const { rows } = index

  return {
    peek: (identity, limit, except) =>
      context.selectPending(identity, limit, except).map((row) => reader.pendingEntry(row)),
    newestPending: (identity, limit) =>
      index.pending.newest(index.identities.find(identity), limit).map((row) => reader.pendingEntry(row)),
    pendingCount(identity, except = []) {
      const persona = index.identities.find(identity)
      if (except.length === 0 || index.pending.addressed(persona) === 0) return index.pending.count(persona)
      return context.selectPending(identity, Infinity, except).length
    },
    readPending: async (identity, limit, except) =>
      context.durably(context.selectPending(identity, limit, except).map((row) => reader.asQueued(row))),
    inProgressCount: (identity) => index.in_progress.count(index.identities.find(identity)),
    async inProgress(identity, { limit, unnotified_except }) {
      const matches = [...reader.inProgress(identity, unnotified_except)]
      return context.durably({
        count: matches.length,
        signals: matches.slice(0, limit).map((row) => reader.inProgressEntry(row)),
      })
    },
    leases: () =>
      [...index.leases.all()].flatMap(({ drain_id, session_id, persona, rows: leased }) => {
        const held = [...leased].filter((row) => rows.has(row, FLAG.held))
        if (held.length === 0) return []
        const identity = index.identities.name(persona)
        return [{ drain_id, session_id, identity, signal_ids: held.map((row) => rows.idText(row)) }]
      }),
    expiredCount: (identity) => index.expired.get(index.identities.find(identity))?.count ?? 0,
    unnotifiedExpired: async (identity, limit) => {
      const unnotified = index.expired.get(index.identities.find(identity))?.unnotified ?? []
      return context.durably([...unnotified].slice(0, limit).flatMap((row) => context.readIfIntact(row)))
    },
    async read(signal_id) {
      const row = index.find(signal_id)
      return context.durably(row === -1 ? null : reader.view(row))
    },
    query: async (query) => context.durably(await reader.query(query, clock)),
    pendingCounts: () =>
      new Map(
        [...index.pending.counts()].map(([persona, { count }]) => [index.identities.name(persona), count]),
      ),
    health() {
      journal.checkFiles()
      return {
        writable: journal.writeError === null,
        reason: journal.writeError?.detail ?? null,
        hint: journal.writeError?.hint ?? null,
        signals: index.count,
        pending: index.pending.total,
        last_seq: index.last_seq,
        last_signal_id: index.last_signal_id,
      }
    },
  }
}
