import { expect, test } from 'vitest'
import { wordsOf } from '../../../src/contracts/words.ts'

test.each<[string, string[]]>([
  ['signals_send', ['signals', 'send']],
  ['sendSignal', ['send', 'signal']],
  ['Send signal!', ['send', 'signal']],
  ['parseJWTToken', ['parse', 'jwt', 'token']],
  ['src/auth/jwt.ts', ['src', 'auth', 'jwt', 'ts']],
  ['sha256Sum', ['sha256', 'sum']],
  ['größerAls Élan', ['größer', 'als', 'élan']],
  ['全文検索 on 漢字', ['全文', '文検', '検索', 'on', '漢字']],
  ['a b, c: d', []],
  ['', []],
  [' \n–…', []],
])('%j has its words', (text, words) => expect(wordsOf(text)).toEqual(words))

test('a very long text without a space is cut into words in little time', () => {
  expect(wordsOf('x'.repeat(100_000))).toHaveLength(1)
  expect(wordsOf('aB'.repeat(50_000))).toHaveLength(49_999)
})
