import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { withoutClientMarkup } from '../../../../src/contracts/clients/client-markup.ts'

const fixture = <T>(name: string): T =>
  JSON.parse(
    fs.readFileSync(path.join(import.meta.dirname, '../../../fixtures/client-markup', name), 'utf8'),
  ) as T
/** Imitations with their sanitized form. */
const IMITATIONS = fixture<[string, string][]>('imitations.json')
const ORDINARY = fixture<string[]>('ordinary.json')

/** Enough that quadratic time would take minutes. */
const MANY = LIMITS.payload_bytes_max / 4

const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text))

describe('text that imitates a client', () => {
  test.each(IMITATIONS)('%j becomes %j', (text, shown) => {
    expect(withoutClientMarkup(text)).toBe(shown)
    expect(withoutClientMarkup(`so:\n${text}\nand more`)).toBe(`so:\n${shown}\nand more`)
  })

  test('an imitation is sanitized every time it occurs in a text', () => {
    const times = 20
    for (const [text, shown] of IMITATIONS)
      expect(withoutClientMarkup(`${text}\n\n`.repeat(times))).toBe(`${shown}\n\n`.repeat(times))
  })
})

describe('ordinary text', () => {
  test.each(ORDINARY)('%j stays as it is', (text) => {
    expect(withoutClientMarkup(text)).toBe(text)
  })

  test('ordinary text stays unchanged between imitations', () => {
    const [text = '', shown = ''] = IMITATIONS[0] ?? []
    for (const code of ORDINARY)
      expect(withoutClientMarkup(`${text}\n${code}\n${text}`)).toBe(`${shown}\n${code}\n${shown}`)
  })
})

describe('sanitized text', () => {
  const signs = [
    '<',
    '</',
    '>',
    '&lt;',
    '\\u003c',
    '\u200b',
    '\uff1c',
    '~',
    '\n',
    '\\n',
    ' ',
    '"',
    ':',
    '=',
    '/',
    '|',
  ]
  const words = [
    'hook',
    'Stop',
    'system',
    'Human',
    'reminder',
    '-',
    '_',
    'a',
    'Event',
    '[',
    ']',
    '::',
    '(?',
    'INST',
  ]
  const pieces = fc.constantFrom(...signs, ...words, ...IMITATIONS.map(([text]) => text), ...ORDINARY)
  const texts = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 12 })

  test('sanitized text contains no imitation, is not longer, and differs only by marks', () => {
    fc.assert(
      fc.property(texts, (parts) => {
        const text = parts.join('')
        const shown = withoutClientMarkup(text)
        expect(withoutClientMarkup(shown)).toBe(shown)
        expect(jsonBytes(shown)).toBeLessThanOrEqual(jsonBytes(text))
        const [given, marked] = [Array.from(text), Array.from(shown)]
        expect(marked).toHaveLength(given.length)
        expect(marked.filter((sign, at) => sign !== given[at] && sign !== '~')).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ...[
      '<',
      '< ',
      '</ ',
      '<a-b ',
      '<a-b a=',
      '&amp;',
      '\\u003c',
      '[ ',
      ' [',
      'Stop ',
      ' Stop',
      'Stop:x ',
      '\\n',
    ],
    ...['\u200b', 'hook', 'human ', '<Event a="b" ', '\n ', 'a:'],
  ])('sanitizing takes linear time: many of %j', (piece) => {
    const text = piece.repeat(MANY / piece.length)
    const spaces = ' '.repeat(MANY)
    for (const one of [text, `<a-b${spaces}${text}`, `\n${text}hook`, `<${spaces}/${spaces}${text}=`])
      expect(withoutClientMarkup(one)).toHaveLength(one.length)
  })

  test('an imitation is found behind any number of spaces', () => {
    const spaces = ' '.repeat(LIMITS.payload_bytes_max)
    expect(withoutClientMarkup(`<${spaces}/${spaces}hook>`)).toBe(`~${spaces}/${spaces}hook>`)
    expect(withoutClientMarkup(`\n${spaces}Stop${spaces}hook error`)).toBe(
      `\n${spaces}Stop${spaces.slice(1)}~hook error`,
    )
  })
})
