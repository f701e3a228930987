/** Normalization and suggestion of names that callers pass. */

/** Maximum length of a compared name, in characters. Callers control the input. */
const NAME_LENGTH_MAX = 128
const SNAKE = new RegExp(`^[a-z0-9_]{0,${NAME_LENGTH_MAX}}$`)

/** Converts `replayAll`, `ReplayAll` and `replay_all` to one name. */
export function toSnakeCase(name: string): string {
  // Fast path: most names are already in snake case.
  if (SNAKE.test(name)) return name
  return name
    .slice(0, NAME_LENGTH_MAX + 1)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[-.\s]+/g, '_')
    .toLowerCase()
}

/** Returns the most similar name, or null if none is close. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const asked = toSnakeCase(name)
  let best: string | null = null
  let begun: string | null = null
  // At most a third of the letters may differ; a more distant suggestion would mislead.
  let bestDistance = Math.floor(Math.max(asked.length, 3) / 3) + 1
  for (const candidate of known) {
    const distance = editDistance(asked, candidate, bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
    if (asked.length > 2 && (candidate.startsWith(asked) || asked.startsWith(candidate))) begun ??= candidate
  }
  return best ?? begun
}

/**
 * Optimal string alignment distance: insert, delete, replace, swap neighbours. Returns `bound` as soon as the distance
 * cannot be lower.
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
