/** Patterns that are tried one after the other, whoever asks: each stops the hub for as long as it takes. */
import type { Clock } from '../../../ports/clock.ts'
import type { Patterns } from '../../../ports/patterns.ts'

export interface PatternLine {
  /** Rejects as `Patterns.matches` throws. Between two tries the loop turns: what waits outside is heard. */
  matches(pattern: string, text: string): Promise<boolean>
}

export function createPatternLine({
  patterns,
  clock,
}: {
  patterns: Patterns
  clock: Pick<Clock, 'soon'>
}): PatternLine {
  let free: Promise<unknown> = Promise.resolve()
  const turned = () => new Promise<void>((resolve) => clock.soon(resolve))

  return {
    matches(pattern, text) {
      const tried = free.then(() => patterns.matches(pattern, text))
      free = tried.then(turned, turned)
      return tried
    },
  }
}
