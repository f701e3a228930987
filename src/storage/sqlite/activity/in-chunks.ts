/** Splits long lists, because a statement has a maximum number of parameters. */

const CHUNK = 250

/** Calls `work` with parts of the list, one after the other; not at all for an empty list. */
export async function inChunks<Item>(
  items: readonly Item[],
  work: (chunk: Item[]) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += CHUNK) await work(items.slice(start, start + CHUNK))
}
