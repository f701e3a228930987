/** Who goes when: what is done to one record in the order of the calls, exclusive work of a kind alone. */
export interface Turns {
  /** After everything asked for earlier about this record, and after exclusive work asked for earlier. */
  one<T>(kind: string, id: string, work: () => Promise<T>): Promise<T>
  /** After everything asked for earlier about this kind; what is asked for later waits for it. */
  alone<T>(kind: string, work: () => Promise<T>): Promise<T>
}

interface Waiting {
  /** The end of the last exclusive work. Never rejects, like all of these. */
  alone: Promise<unknown>
  /** The end of the last work on each record since then. */
  last: Map<string, Promise<unknown>>
}

export function createTurns(): Turns {
  const kinds = new Map<string, Waiting>()

  const waitingFor = (kind: string): Waiting => {
    const known = kinds.get(kind)
    if (known !== undefined) return known
    const waiting: Waiting = { alone: Promise.resolve(), last: new Map() }
    kinds.set(kind, waiting)
    return waiting
  }

  return {
    one(kind, id, work) {
      const waiting = waitingFor(kind)
      const mine = (waiting.last.get(id) ?? waiting.alone).then(work)
      const over = settled(mine)
      waiting.last.set(id, over)
      void over.then(() => {
        if (waiting.last.get(id) === over) waiting.last.delete(id)
      })
      return mine
    },
    alone(kind, work) {
      const waiting = waitingFor(kind)
      const mine = Promise.all([waiting.alone, ...waiting.last.values()]).then(work)
      waiting.alone = settled(mine)
      waiting.last.clear()
      return mine
    },
  }
}

function settled(work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => undefined)
}
