/**
 * Items, by their key, whose record was refused because nobody could tell whether it survives a crash. It may be on the
 * disk all the same: whoever tries again means the same item, and whoever ends it means this one too.
 * Callers bound it together with what they keep for sure.
 */
export class Unsure<T> extends Map<string, T> {
  /** Throws what `write` throws; the item stays unsure then. */
  async settle(key: string, item: T, write: (item: T) => Promise<unknown>): Promise<void> {
    this.set(key, item)
    await write(item)
    this.delete(key)
  }
}
