/**
 * Items, by their key, whose record was refused to be written, or to be removed, because nobody could tell whether that
 * survives a crash. It may be on the disk or not: whoever tries again means the same item, and that is written anew; whoever
 * ends it means this one too.
 * Callers bound it together with what they keep for sure.
 */
export class Unsure<T> extends Map<string, T> {
  /** Throws what `change` throws; the item stays unsure then. */
  async settle(key: string, item: T, change: () => Promise<unknown>): Promise<void> {
    this.set(key, item)
    await change()
    this.delete(key)
  }
}
