/** Changes that are asked for at once and written together: one sync is paid for by all of them. */
export interface Together<C> {
  /** Resolves when it is written, with all that were added until its write began. */
  add(change: C): Promise<void>
  /** What is added from now on is written by a later write: everything, or what is about one record. */
  seal(id?: string): void
}

/** `begin` asks for a turn at once, and when that has come it takes what has come together and writes it. */
export function createTogether<C extends { id: string }>(
  begin: (take: () => readonly C[]) => Promise<void>,
): Together<C> {
  let open: { changes: C[]; sealed: Set<string>; done: Promise<void> } | null = null

  const start = () => {
    const changes: C[] = []
    const close = () => {
      if (open?.changes === changes) open = null
      return changes
    }
    // Where no turn ever came, nothing may wait for it any longer.
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

/** Works one after the other, in the order of the calls. */
export interface Line {
  next<T>(work: () => Promise<T> | T): Promise<T>
  /** When everything that was asked for is over, well or not. */
  over(): Promise<void>
}

export function createLine(): Line {
  let last: Promise<unknown> = Promise.resolve()
  return {
    next(work) {
      const mine = last.then(work)
      last = mine.catch(() => undefined)
      return mine
    },
    over: async () => void (await last),
  }
}
