/** Queues that run tasks one at a time in call order, so the state a task was based on is still current when it is stored. */
export type SerialQueue = <T>(task: () => Promise<T> | T) => Promise<T>

/** A failed task does not stop the queue. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
}

/** One serial queue for each key; tasks of different keys run side by side. */
export function createKeyedQueue(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, task) => {
    const result = (last.get(key) ?? Promise.resolve()).then(task)
    const settled = result.catch(() => undefined)
    last.set(key, settled)
    void settled.then(() => {
      if (last.get(key) === settled) last.delete(key)
    })
    return result
  }
}
