/** Size in bytes of one item in a JSON list, with the comma after it. */
export function itemBytes(item: unknown): number {
  return Buffer.byteLength(JSON.stringify(item)) + 1
}

/** Returns the first items that together take at most `bytes_max` as JSON, and at least one item. */
export function truncateToBytes<T>(items: readonly T[], bytes_max: number): T[] {
  let bytes = 0
  const end = items.findIndex((item, index) => {
    bytes += itemBytes(item)
    return bytes > bytes_max && index > 0
  })
  return end === -1 ? [...items] : items.slice(0, end)
}
