/**
 * Items by key whose last write or removal had an unknown outcome: it may or may not be durable. A retry writes the same
 * item again, and ending the item removes it too. Callers bound this map together with their stored items.
 */
export class UncertainWrites<T> extends Map<string, T> {
  /** Throws the error of `change`; the item stays in the map then. */
  async settle(key: string, item: T, change: () => Promise<unknown>): Promise<void> {
    this.set(key, item)
    await change()
    this.delete(key)
  }
}
