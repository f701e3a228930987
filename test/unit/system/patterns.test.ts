import { describe, expect, test } from 'vitest'
import { boundedPatterns, systemPatterns } from '../../../src/system/patterns.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { refusedWith } from '../../support/worlds/small-hub.ts'

describe('a pattern', () => {
  test.each([
    ['^v\\d+$', 'v12', true],
    ['^v\\d+$', 'v12 ', false],
    ['b', 'abc', true],
    ['^.$', '🔔', true],
    ['', '', true],
  ])('%s and %j', (pattern, text, holds) => {
    expect(systemPatterns.matches(pattern, text)).toBe(holds)
  })

  test.each(['(', '[', '\\', '(?<a>', '*'])('that is none is refused: %s', async (pattern) => {
    expect(await refusedWith(() => systemPatterns.matches(pattern, 'x'))).toBe('params_invalid')
  })

  test('a pattern that would backtrack without end times out', async () => {
    const endless = () => systemPatterns.matches('^(a+)+$', `${'a'.repeat(60)}b`)
    expect(await refusedWith(endless)).toBe('params_invalid')
    expect(endless).toThrow('takes too long')
  })

  describe('on a busy machine', () => {
    /** Each evaluation takes its whole time with this much processor time; the last one ends. */
    function tried(...had_ms: number[]) {
      let [tries, processor_ms] = [0, 0]
      const patterns = boundedPatterns({
        test() {
          const had = had_ms[tries++]
          if (had === undefined) return true
          processor_ms += had
          throw Object.assign(new Error('timed out'), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' })
        },
        processor_ms: () => processor_ms,
      })
      return { matches: () => patterns.matches('a', 'a'), tries: () => tries }
    }

    test('an evaluation that had no processor is repeated', () => {
      expect(tried(2, 30).matches()).toBe(true)
    })
    test('a pattern times out after its processor time, or its evaluations', () => {
      for (const [had_ms, tries] of [
        [Array<number>(9).fill(40), 3],
        [Array<number>(20).fill(0), LIMITS.pattern_tries_max],
      ] as const) {
        const busy = tried(...had_ms)
        expect(busy.matches).toThrow('takes too long')
        expect(busy.tries()).toBe(tries)
      }
    })
  })
})
