/** Orders work by record: calls about one record run in order, exclusive work of a kind runs alone. */
export interface RecordQueue {
  /** Runs after earlier work on this record and after earlier exclusive work. */
  perKey<T>(kind: string, id: string, work: () => Promise<T>): Promise<T>
  /** Runs after all earlier work on this kind; later work waits for it. */
  exclusive<T>(kind: string, work: () => Promise<T>): Promise<T>
}

interface KindQueue {
  /** Ends with the last exclusive work. Never rejects. */
  exclusive: Promise<unknown>
  /** Ends with the last work on each record after it. Never rejects. */
  last: Map<string, Promise<unknown>>
}

export function createRecordQueue(): RecordQueue {
  const kinds = new Map<string, KindQueue>()

  const queueOf = (kind: string): KindQueue => {
    const existing = kinds.get(kind)
    if (existing !== undefined) return existing
    const queue: KindQueue = { exclusive: Promise.resolve(), last: new Map() }
    kinds.set(kind, queue)
    return queue
  }

  return {
    perKey(kind, id, work) {
      const queue = queueOf(kind)
      const result = (queue.last.get(id) ?? queue.exclusive).then(work)
      const ended = settled(result)
      queue.last.set(id, ended)
      void ended.then(() => {
        if (queue.last.get(id) === ended) queue.last.delete(id)
      })
      return result
    },
    exclusive(kind, work) {
      const queue = queueOf(kind)
      const result = Promise.all([queue.exclusive, ...queue.last.values()]).then(work)
      queue.exclusive = settled(result)
      queue.last.clear()
      return result
    },
  }
}

function settled(work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => undefined)
}
