/**
 * Tries a pattern for a bounded time: V8 can interrupt one that backtracks only when it runs as a script. It counts
 * the time that passes; one that had no processor meanwhile, on a busy machine, is tried again.
 */
import vm from 'node:vm'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Patterns } from '../ports/patterns.ts'

export interface PatternTries {
  /** @throws where it is no pattern, and with ERR_SCRIPT_EXECUTION_TIMEOUT after so much time. */
  test: (pattern: string, text: string, timeout_ms: number) => boolean
  /** What this process has had of its processors. */
  processor_ms: () => number
}

/** A little of a try goes to others, also on a free processor. */
const ENOUGH_MS = 0.9 * LIMITS.pattern_ms

export function boundedPatterns({ test, processor_ms }: PatternTries): Patterns {
  return {
    matches(pattern, text) {
      let [tries, computed_ms] = [0, 0]
      for (;;) {
        const before_ms = processor_ms()
        try {
          return test(pattern, text, LIMITS.pattern_ms)
        } catch (cause) {
          tries += 1
          computed_ms += processor_ms() - before_ms
          const slow = (cause as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
          if (slow && tries < LIMITS.pattern_tries_max && computed_ms < ENOUGH_MS) continue
          // What it throws comes from another realm: an `Error` there is none here.
          const why = slow ? 'takes too long with this text' : String((cause as Error).message)
          throw new TurnbellError('params_invalid', {
            detail: `the pattern ${JSON.stringify(pattern)}: ${why}`,
            hint: 'Write a regular expression of JavaScript, without a repetition inside of a repetition.',
            cause,
          })
        }
      }
    },
  }
}

const SCRIPT = new vm.Script('new RegExp(pattern, "u").test(text)')

export const systemPatterns: Patterns = boundedPatterns({
  test: (pattern, text, timeout) => SCRIPT.runInNewContext({ pattern, text }, { timeout }) === true,
  processor_ms() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
})
