import { expect, test } from 'vitest'
import { tokenize } from '../../../../src/contracts/text/tokenize.ts'

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
])('%j is split into its words', (text, words) => expect(tokenize(text)).toEqual(words))

test('a very long text without a space is tokenized in little time', () => {
  expect(tokenize('x'.repeat(100_000))).toHaveLength(1)
  expect(tokenize('aB'.repeat(50_000))).toHaveLength(49_999)
})
