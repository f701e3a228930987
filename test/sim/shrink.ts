/**
 * Removes steps from a failing run while it still fails in the same way.
 *
 * Source: delta debugging, A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002.
 */

/** `fails` runs the simulation with these steps only. At most `tries` runs are made. */
export async function shrink(
  steps: readonly number[],
  fails: (steps: readonly number[]) => Promise<boolean>,
  tries: number,
): Promise<readonly number[]> {
  let kept = steps
  let parts = 2
  let left = tries
  while (kept.length > 1 && left > 0) {
    const size = Math.ceil(kept.length / parts)
    let smaller: readonly number[] | null = null
    for (let start = 0; start < kept.length && smaller === null && left > 0; start += size, left--) {
      const rest = [...kept.slice(0, start), ...kept.slice(start + size)]
      if (await fails(rest)) smaller = rest
    }
    if (smaller !== null) {
      kept = smaller
      parts = Math.max(2, parts - 1)
    } else if (size === 1) break
    else parts = Math.min(kept.length, parts * 2)
  }
  return kept
}
