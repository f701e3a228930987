/** Collects concurrent changes into one write, so that they share one sync (group commit). */
export interface WriteBatch<C> {
  /** Adds a change to the open batch. Resolves when the batch is written. */
  add(change: C): Promise<void>
  /** Makes later changes go to a later batch: all of them, or those of one record. */
  seal(id?: string): void
}

/** `begin` is called for each new batch. It queues a write, which calls `take` for the collected changes. */
export function createWriteBatch<C extends { id: string }>(
  begin: (take: () => readonly C[]) => Promise<void>,
): WriteBatch<C> {
  let open: { changes: C[]; sealed: Set<string>; done: Promise<void> } | null = null

  const start = () => {
    const changes: C[] = []
    const close = () => {
      if (open?.changes === changes) open = null
      return changes
    }
    // If `begin` fails before taking the changes, no further change may join the batch.
    return { changes, sealed: new Set<string>(), done: begin(close).finally(close) }
  }

  return {
    add(change) {
      if (open?.sealed.has(change.id)) open = null
      open ??= start()
      open.changes.push(change)
      return open.done
    },
    seal(id) {
      if (id === undefined) open = null
      else open?.sealed.add(id)
    },
  }
}
