import { describe, expect, test } from 'vitest'
import { boundedPatterns, systemPatterns } from '../../../src/system/patterns.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { refusedWith } from '../../support/small-hub.ts'

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

  test('that would not come to an end is given up', async () => {
    const endless = () => systemPatterns.matches('^(a+)+$', `${'a'.repeat(60)}b`)
    expect(await refusedWith(endless)).toBe('params_invalid')
    expect(endless).toThrow('takes too long')
  })

  describe('on a busy machine', () => {
    /** Each try takes all its time, and has so much of a processor in it; the last one ends. */
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

    test('is tried again after a try that had no processor', () => {
      expect(tried(2, 30).matches()).toBe(true)
    })
    test('is given up once it had its time, or its tries', () => {
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
