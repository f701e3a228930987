/**
 * The operations of a signal store on disk: a journal, and an index of it in memory. A call decides on the
 * index, adds its decision to the journal, applies it to the index, and resolves once the line is synced. So
 * calls, journal lines and index changes have the same order.
 */
import type { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { SignalStore } from '../../../ports/signal-store.ts'
import { OperationContext, type OperationParts } from './operation-context.ts'
import { createAppends } from './signal-appends.ts'
import { createDrains } from './signal-drains.ts'
import { createOutcomes } from './signal-outcomes.ts'
import { createQueries } from './signal-queries.ts'

export interface FileSignalStore extends SignalStore {
  /** Stops writing at once and leaves the files unchanged, because another hub owns them. */
  fence(error: TurnbellError): void
  /**
   * Throws `store_fenced` if another hub owns the journal, also while nothing is being written. Throws another error if
   * ownership cannot be determined.
   */
  checkOwned(): void
}

export function createSignalOperations(parts: OperationParts): FileSignalStore {
  const context = new OperationContext(parts)
  const { index, journal, marks, maintenance, retention } = parts
  let closed: Promise<void> | null = null

  return {
    ...createAppends(context),
    ...createQueries(context),
    ...createDrains(context),
    ...createOutcomes(context),
    mark(signal_ids, stage, at) {
      if (journal.writeError === null) marks.note(signal_ids, stage, at, journal)
    },
    async compact(now) {
      journal.checkAlive()
      const finished_before = Date.parse(now) - retention.finished_retention_ms
      const created_before = Date.parse(now) - retention.idempotency_window_ms
      const forgotten = index.forgettable(finished_before, created_before)
      if (forgotten > 0) {
        await context.change({
          kind: 'forget',
          finished_before: new Date(finished_before).toISOString(),
          created_before: new Date(created_before).toISOString(),
        })
      }
      await maintenance.compact()
      return { forgotten }
    },
    close: () => (closed ??= parts.close()),
    fence: (error) => journal.die(error),
    checkOwned: () => journal.checkOwned(),
  }
}
