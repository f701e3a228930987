import { describe, expect, test } from 'vitest'
import { systemPatterns } from '../../../src/system/patterns.ts'
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
})
