/** As many from the front as have so many bytes together as JSON; one is always among them. */
export function withinBytes<T>(items: readonly T[], bytes_max: number): T[] {
  let bytes = 0
  const end = items.findIndex((item, index) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1
    return bytes > bytes_max && index > 0
  })
  return end === -1 ? [...items] : items.slice(0, end)
}
