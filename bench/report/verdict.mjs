/** Compares figures with their goals and formats the result, for the bench, the table and the plots. */

/** Parses the goal of a figure, such as `11: >= 0.4`; null without a goal. */
export function boundOf({ goal }) {
  if (goal === null) return null
  const [, comparison, bound] = goal.split(' ')
  return { comparison, bound: Number(bound) }
}

/** Compares by value and limit, because the ratio is rounded. A figure without a goal passes, a skipped one fails. */
export function met(figure) {
  const goal = boundOf(figure)
  if (goal === null) return true
  if (figure.value === null || figure.limit === null) return false
  return within(figure.value / figure.limit, goal)
}

/** Returns the distance to the goal: 1 is just met, lower is better, in either direction of the comparison. */
export function shareOf({ value, limit }, { comparison, bound }) {
  const ratio = value / limit
  return comparison === '<=' ? ratio / bound : bound / ratio
}

/**
 * Formats the ratio with two decimals, or two digits below a tenth. Uses more digits where rounding would move it
 * across its bound, as for 1.401 and a bound of 1.4.
 */
export function shownRatio(figure) {
  const ratio = figure.value / figure.limit
  const goal = boundOf(figure)
  for (let digits = 2; ; digits += 1) {
    const text = ratio < 0.1 ? String(Number(ratio.toPrecision(digits))) : ratio.toFixed(digits)
    if (goal === null || within(Number(text), goal) === within(ratio, goal)) return text
  }
}

function within(ratio, { comparison, bound }) {
  return comparison === '<=' ? ratio <= bound : ratio >= bound
}
