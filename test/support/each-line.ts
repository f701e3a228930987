/** Applies an outcome function to each line of the spool. */
import type { LineOutcome } from '../../src/ports/spool.ts'

/** Processes the lines one at a time. */
export function eachLine(
  take: (line: string) => Promise<LineOutcome>,
): (lines: readonly string[]) => Promise<LineOutcome[]> {
  return async (lines) => {
    const outcomes: LineOutcome[] = []
    for (const line of lines) outcomes.push(await take(line))
    return outcomes
  }
}
