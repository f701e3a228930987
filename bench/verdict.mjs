/** What a figure is judged to be, and how that is shown: the same for who measures, for the table and for the plots. */

/** `11: >= 0.4`, as a figure names its goal, taken apart; null where it has none. */
export function boundOf({ goal }) {
  if (goal === null) return null
  const [, comparison, bound] = goal.split(' ')
  return { comparison, bound: Number(bound) }
}

/** By value and limit: the ratio is rounded for showing. What has no goal is met, what was left out is not. */
export function met(figure) {
  const goal = boundOf(figure)
  if (goal === null) return true
  if (figure.value === null || figure.limit === null) return false
  return within(figure.value / figure.limit, goal)
}

/** How near the goal is: 1 is just met, below is better, whichever way round the ratio counts. */
export function shareOf({ value, limit }, { comparison, bound }) {
  const ratio = value / limit
  return comparison === '<=' ? ratio / bound : bound / ratio
}

/**
 * The ratio as text: two decimals, or two digits of what is less than a tenth. More where it would otherwise
 * stand on the other side of its bound than it was judged to be, as 1.401 does that misses 1.4.
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
