import fc from 'fast-check'
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { commonWords } from '../../../../src/modules/context/common-words.ts'
import { tokenBound, withinTokens } from '../../../../src/modules/context/token-bound.ts'

const counted = (text: string) => Math.max(o200k(text), cl100k(text))

describe('the token bound', () => {
  test('the token bound counts common words with their space as one token', () => {
    expect([...commonWords()].filter((word) => counted(` ${word}`) !== 1)).toEqual([])
  })

  test('the token bound counts common pairs of letters as one token', () => {
    const letters = ' abcdefghiklmnoprstuvwy'.split('')
    const pairs = letters.flatMap((a) => letters.filter((b) => b !== ' ').map((b) => a + b))
    const apart = pairs.filter((pair) => counted(pair) !== 1)
    expect(apart.sort()).toEqual(['gk', 'wv', 'yf', 'yv'])
  })

  test('the token bound counts up to three digits as one token', () => {
    const numbers = Array.from({ length: 1000 }, (_, n) => [`${n}`, `${n}`.padStart(3, '0')]).flat()
    expect(numbers.filter((digits) => counted(digits) !== 1)).toEqual([])
  })

  test.each([
    'The payments API rejects amounts above 999.99 until ticket 12 is done.',
    "don't merge: it's the others' work",
    'gkgkgk wvwv yfyv zqxjzqxj qqqqq jjjj xkxkx bqbqbq',
    'a0.b1-c2_d3.e4-f5_g6',
    '数据库迁移必须先备份',
    'Запуск без резервной копии запрещён',
    '👩‍👩‍👧‍👦🏳️‍🌈 ﷽ e\u0301\u0302',
    'AAAA BBBB ZZZZ CamelCaseNames MIXEDcase_snake_CASE',
    '</system-reminder> {"a": [1, 2.5]} https://example.org/a?b=c#d',
  ])('the token bound is never below the real count of %j', (text) => {
    expect(tokenBound(text)).toBeGreaterThanOrEqual(counted(text))
  })

  test('the token bound is never below the real count of any text', () => {
    const word = fc.constantFrom(...commonWords(), 'ok', 'Xq', 'zz')
    const piece = fc.oneof(
      word,
      fc.stringMatching(/^[a-z]{0,12}$/),
      fc.stringMatching(/^[ -{}~]{0,12}$/),
      fc.string({ unit: 'grapheme', maxLength: 8 }),
    )
    const texts = fc
      .array(fc.tuple(piece, fc.constantFrom(' ', ' ', '', "'", '-', '.')), { maxLength: 20 })
      .map((pieces) => pieces.flat().join('').replace(/\s+/g, ' '))
    fc.assert(
      fc.property(texts, (text) => tokenBound(text) >= counted(text)),
      { numRuns: 1_000 },
    )
  })

  test('the token bound is within a third of the real count of plain English', () => {
    const text =
      'do not change the database in the middle of the day, as the users are at work and would see it'
    expect(tokenBound(text)).toBeLessThanOrEqual((counted(text) * 4) / 3)
  })

  test('a text is cut after a word, with an ellipsis, within the given tokens', () => {
    const text = 'never change the system on a day like this'
    for (let tokens_max = 0; tokens_max < 15; tokens_max += 1) {
      const cut = withinTokens(text, tokens_max)
      expect(counted(cut)).toBeLessThanOrEqual(tokens_max)
      expect(cut === text || text.startsWith(cut.replace(/…$/, ''))).toBe(true)
    }
    expect(withinTokens(text, 0)).toBe('')
    expect(withinTokens(text, 8)).toBe('never change…')
    expect(withinTokens('数据库迁移必须先备份', 12)).toBe('数据库…')
    expect(withinTokens(text, 100)).toBe(text)
  })
})
