/** Tries a pattern for a bounded time: V8 can interrupt one that backtracks only when it runs as a script. */
import vm from 'node:vm'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Patterns } from '../ports/patterns.ts'

const SCRIPT = new vm.Script('new RegExp(pattern, "u").test(text)')

export const systemPatterns: Patterns = {
  matches(pattern, text) {
    try {
      return SCRIPT.runInNewContext({ pattern, text }, { timeout: LIMITS.pattern_ms }) === true
    } catch (cause) {
      const slow = (cause as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
      // What it throws comes from another realm: an `Error` there is none here.
      const why = slow ? 'takes too long with this text' : String((cause as Error).message)
      throw new TurnbellError('params_invalid', {
        detail: `the pattern ${JSON.stringify(pattern)}: ${why}`,
        hint: 'Write a regular expression of JavaScript, without a repetition inside of a repetition.',
        cause,
      })
    }
  },
}
