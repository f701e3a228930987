/** Names as callers spell them. */

/** `replayAll`, `ReplayAll` and `replay_all` are one name. */
export function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[-.\s]+/g, '_')
    .toLowerCase()
}

/** The name that was probably meant, or null when nothing is close. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const asked = snake(name)
  let best: string | null = null
  // A third of the letters may be wrong; beyond that a suggestion misleads.
  let bestDistance = Math.floor(Math.max(asked.length, 3) / 3) + 1
  for (const candidate of known) {
    if (asked.length > 2 && (candidate.startsWith(asked) || asked.startsWith(candidate))) return candidate
    const distance = editDistance(asked, candidate, bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/**
 * Optimal string alignment distance: insert, delete, replace, swap neighbours. Gives up, with `bound`,
 * once a row shows that it cannot be less. Names are cut at 64 letters: a caller chooses their length.
 */
function editDistance(left: string, right: string, bound: number): number {
  const [a, b] = [left.slice(0, 64), right.slice(0, 64)]
  if (Math.abs(a.length - b.length) >= bound) return bound
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (same ? 0 : 1),
      )
      if (a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (before[column - 2] ?? Infinity) + 1)
      }
      current.push(cost)
    }
    if (Math.min(...current) >= bound) return bound
    ;[before, above] = [above, current]
  }
  return above[b.length] ?? bound
}
