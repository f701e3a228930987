/** Numbers of the received events of a session, as ascending ranges with a gap between each two. */

/** Both ends included. */
export type Range = [from: number, to: number]

/** Maximum number of ranges of one session. More gaps mean a faulty client, and the oldest gap is given up. */
export const RANGES_MAX = 1_000

export function isReceived(ranges: readonly Range[], seq: number): boolean {
  const range = ranges[indexOf(ranges, seq)]
  return range !== undefined && range[0] <= seq
}

/** Returns the ranges with a number that they do not contain. */
export function withReceived(ranges: readonly Range[], seq: number): Range[] {
  const at = indexOf(ranges, seq)
  const [before, after] = [ranges[at - 1], ranges[at]]
  const from = before !== undefined && before[1] === seq - 1 ? before[0] : seq
  const to = after !== undefined && after[0] === seq + 1 ? after[1] : seq
  return [
    ...ranges.slice(0, from === seq ? at : at - 1),
    [from, to],
    ...ranges.slice(to === seq ? at : at + 1),
  ]
}

/** Returns at most `RANGES_MAX` ranges, and how many numbers count as received because of it. */
export function boundedRanges(ranges: readonly Range[]): { ranges: Range[]; given_up: number } {
  let given_up = 0
  const kept = [...ranges]
  while (kept.length > RANGES_MAX) {
    const [first, second] = kept as [Range, Range]
    given_up += second[0] - first[1] - 1
    kept.splice(0, 2, [first[0], second[1]])
  }
  return { ranges: kept, given_up }
}

/** Whether all numbers between two received ones are received, too. */
export function isWhole(ranges: readonly Range[], from: number, to: number): boolean {
  return indexOf(ranges, from) === indexOf(ranges, to)
}

/** Returns the gaps below the highest number. */
export function missingRanges(ranges: readonly Range[]): Range[] {
  const missing: Range[] = []
  let next = 1
  for (const [from, to] of ranges) {
    if (from > next) missing.push([next, from - 1])
    next = to + 1
  }
  return missing
}

/** Returns the highest number, 0 without any. */
export function highestReceived(ranges: readonly Range[]): number {
  return ranges.at(-1)?.[1] ?? 0
}

/** Returns the index of the first range that ends at `seq` or later. */
function indexOf(ranges: readonly Range[], seq: number): number {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ranges[middle]?.[1] ?? 0) < seq) low = middle + 1
    else high = middle
  }
  return low
}
