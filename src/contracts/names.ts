/** Names as callers spell them. */

/** No name of ours is longer. A caller chooses what it asks for, so nothing beyond is looked at. */
const NAME_LENGTH_MAX = 128
const SNAKE = new RegExp(`^[a-z0-9_]{0,${NAME_LENGTH_MAX}}$`)

/** `replayAll`, `ReplayAll` and `replay_all` are one name. */
export function snake(name: string): string {
  // Nearly every name that comes is spelled as ours are.
  if (SNAKE.test(name)) return name
  return name
    .slice(0, NAME_LENGTH_MAX + 1)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[-.\s]+/g, '_')
    .toLowerCase()
}

/** The name that was probably meant, or null when nothing is close. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const asked = snake(name)
  let best: string | null = null
  let begun: string | null = null
  // A third of the letters may be wrong; beyond that a suggestion misleads.
  let bestDistance = Math.floor(Math.max(asked.length, 3) / 3) + 1
  for (const candidate of known) {
    const distance = editDistance(asked, candidate, bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
    if (asked.length > 2 && (candidate.startsWith(asked) || asked.startsWith(candidate))) begun ??= candidate
  }
  return best ?? begun
}

/**
 * Optimal string alignment distance: insert, delete, replace, swap neighbours. Gives up, with `bound`,
 * once a row shows that it cannot be less.
 */
function editDistance(a: string, b: string, bound: number): number {
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
