import { describe, expect, test } from 'vitest'
import { createTokenizer, type PieceRules } from '../../../../src/system/embedding/wordpiece.ts'

const PIECES = [
  ...['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'hello', 'world', 'un', '##aff', '##able', '##a'],
  ...[
    'run',
    '##ning',
    'cafe',
    'café',
    'Hello',
    '!',
    ',',
    '$',
    '.',
    '-',
    '[',
    ']',
    'sep',
    '漢',
    '字',
    'は',
    '##は',
  ],
  ...['jwt', 'token', '##s', '##izer', '_', '/', '’', 's', 'i'],
]
const RULES: PieceRules = {
  vocabulary: new Map(PIECES.map((piece, number) => [piece, number])),
  lowercase: true,
  strip_accents: true,
  split_chinese: true,
  ...{
    continuing: '##',
    word_length_max: 100,
    unknown: '[UNK]',
    first: '[CLS]',
    last: '[SEP]',
    tokens_max: 16,
  },
}

/** As tokens, so that a reader can follow; ids are indexes. */
function read(text: string, more: Partial<PieceRules> = {}): string {
  const numbers = createTokenizer({ ...RULES, ...more })(text)
  return numbers.map((number) => PIECES[number]).join(' ')
}

describe('a model without capitals', () => {
  test.each([
    ['Hello, world!', '[CLS] hello , world ! [SEP]'],
    ['unaffable', '[CLS] un ##aff ##able [SEP]'],
    ['Running runs', '[CLS] run ##ning run ##s [SEP]'],
    ['una', '[CLS] un ##a [SEP]'],
    ['hellox', '[CLS] [UNK] [SEP]'],
    ['hello xyzzy world', '[CLS] hello [UNK] world [SEP]'],
    ['CAFÉ cafe\u0301', '[CLS] cafe cafe [SEP]'],
    ['jwt_tokenizer/tokens', '[CLS] jwt _ token ##izer / token ##s [SEP]'],
    ['world’s $', '[CLS] world ’ s $ [SEP]'],
    ['漢字はは', '[CLS] 漢 字 は ##は [SEP]'],
    ['hello\t\n\r\u00a0\u3000world', '[CLS] hello world [SEP]'],
    ['hel\u0000lo wo\u200brld\ufffd', '[CLS] hello world [SEP]'],
    ['[SEP]', '[CLS] [ sep ] [SEP]'],
    ['İ', '[CLS] i [SEP]'],
    ['', '[CLS] [SEP]'],
    [' \n', '[CLS] [SEP]'],
    ['🙂', '[CLS] [UNK] [SEP]'],
    ['\ud83d', '[CLS] [SEP]'],
  ])('a model without capitals reads %j', (text, pieces) => expect(read(text)).toBe(pieces))

  test('token ids are the indexes in the vocabulary', () => {
    expect(createTokenizer(RULES)('Hello, unaffable!')).toEqual([2, 5, 17, 7, 8, 9, 16, 3])
  })
})

describe('a model with capitals', () => {
  const cased = { lowercase: false, strip_accents: false }
  test.each([
    ['Hello hello', '[CLS] Hello hello [SEP]'],
    ['café cafe', '[CLS] café cafe [SEP]'],
    ['World', '[CLS] [UNK] [SEP]'],
  ])('a model with capitals reads %j', (text, pieces) => expect(read(text, cased)).toBe(pieces))
})

test('a model that does not split Chinese reads it as one word', () => {
  expect(read('漢字', { split_chinese: false })).toBe('[CLS] [UNK] [SEP]')
})

describe('limits of a text', () => {
  test('a long text is truncated between its first and last token', () => {
    expect(read('hello '.repeat(5), { tokens_max: 5 })).toBe('[CLS] hello hello hello [SEP]')
    expect(read('hello unaffable', { tokens_max: 4 })).toBe('[CLS] hello un [SEP]')
    expect(createTokenizer({ ...RULES, tokens_max: 256 })('hello '.repeat(1_000_000))).toHaveLength(256)
  })

  test('a long word is unknown', () => {
    expect(read(`un${'a'.repeat(97)}`, { tokens_max: 200 })).toContain('##a')
    expect(read(`un${'a'.repeat(99)}`, { tokens_max: 200 })).toBe('[CLS] [UNK] [SEP]')
  })
})

test.each(['[UNK]', '[CLS]', '[SEP]'])('a vocabulary without %s is rejected', (piece) => {
  const vocabulary = new Map(RULES.vocabulary)
  vocabulary.delete(piece)
  expect(() => createTokenizer({ ...RULES, vocabulary })).toThrow(`no ${piece}`)
})
