/** Runs patterns of all callers one at a time, because each match blocks the event loop. */
import type { Clock } from '../../../ports/clock.ts'
import type { RegexMatcher } from '../../../ports/regex-matcher.ts'

export interface PatternLine {
  /** Rejects as `Patterns.matches` throws. Yields to the event loop between two matches. */
  matches(pattern: string, text: string): Promise<boolean>
}

export function createPatternLine({
  patterns,
  clock,
}: {
  patterns: RegexMatcher
  clock: Pick<Clock, 'soon'>
}): PatternLine {
  let free: Promise<unknown> = Promise.resolve()
  const ticked = () => new Promise<void>((resolve) => clock.soon(resolve))

  return {
    matches(pattern, text) {
      const tried = free.then(() => patterns.matches(pattern, text))
      free = tried.then(ticked, ticked)
      return tried
    },
  }
}
