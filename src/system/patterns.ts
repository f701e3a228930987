/**
 * Evaluates a regular expression with a time limit: V8 can interrupt backtracking only in a script. The limit is
 * wall-clock time, so an evaluation that did not get the processor on a busy machine is repeated.
 */
import vm from 'node:vm'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { RegexMatcher } from '../ports/regex-matcher.ts'

export interface PatternTries {
  /**
   * @throws for an invalid pattern, and with ERR_SCRIPT_EXECUTION_TIMEOUT after the time limit.
   */
  test: (pattern: string, text: string, timeout_ms: number) => boolean
  /** Processor time of this process. */
  processor_ms: () => number
}

/** An evaluation never gets the whole time, even on an idle machine. */
const ENOUGH_MS = 0.9 * LIMITS.pattern_ms

export function boundedPatterns({ test, processor_ms }: PatternTries): RegexMatcher {
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
          // The error is from another realm, so `instanceof Error` is false.
          const why = slow ? 'takes too long with this text' : String((cause as Error).message)
          throw new TurnbellError('params_invalid', {
            detail: `the pattern ${JSON.stringify(pattern)}: ${why}`,
            hint: 'Use a JavaScript regular expression without nested repetitions.',
            cause,
          })
        }
      }
    },
  }
}

const SCRIPT = new vm.Script('new RegExp(pattern, "u").test(text)')

export const systemPatterns: RegexMatcher = boundedPatterns({
  test: (pattern, text, timeout) => SCRIPT.runInNewContext({ pattern, text }, { timeout }) === true,
  processor_ms() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
})
