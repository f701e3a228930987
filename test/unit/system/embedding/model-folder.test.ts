import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { readModelFolder } from '../../../../src/system/embedding/model-folder.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { tinyTokenizer, writeTinyModel } from '../../../support/fakes/tiny-model.ts'

let folder: string
beforeEach(() => {
  folder = path.join(temporaryDirectory(), 'tiny')
  writeTinyModel(folder)
})

function write(name: string, content: unknown): void {
  const file = path.join(folder, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}
const remove = (name: string) => fs.rmSync(path.join(folder, name))
const numbers = (text: string) => readModelFolder(folder).tokenize(text)

describe('a model folder', () => {
  test('a model folder contains the rules of its tokenizer', () => {
    expect(numbers('Logins, caché!')).toEqual([2, 4, 8, 1, 6, 9, 3])
  })

  test('the rules are also read from the older files', () => {
    remove('tokenizer.json')
    write('vocab.txt', '[PAD]\n[UNK]\r\n[CLS]\n[SEP]\nlogin\n##s\nLogin\n')
    expect(numbers('Logins')).toEqual([2, 4, 5, 3])
    write('tokenizer_config.json', { do_lower_case: false })
    expect(numbers('Logins')).toEqual([2, 6, 5, 3])
  })

  test('a model may keep capitals', () => {
    const rules = tinyTokenizer()
    write('tokenizer.json', { ...rules, normalizer: { ...rules.normalizer, lowercase: false } })
    expect(numbers('Login login')).toEqual([2, 1, 4, 3])
  })

  test.each([
    ['by itself', {}, 8],
    ['for sentences', { 'sentence_bert_config.json': { max_seq_length: 6 } }, 6],
    ['not at all', { 'tokenizer.json': { ...tinyTokenizer(), truncation: null } }, 256],
    ['to more than there is', { 'sentence_bert_config.json': { max_seq_length: 100_000 } }, 512],
    ['to nothing', { 'sentence_bert_config.json': { max_seq_length: -1 } }, 3],
  ])('long texts are truncated %s', (_, files, tokens) => {
    for (const [name, content] of Object.entries(files)) write(name, content)
    expect(numbers('login '.repeat(1_000))).toHaveLength(tokens)
  })

  test.each(['onnx/model.onnx', 'model_quantized.onnx', 'onnx/model_quantized.onnx'])(
    'the network may be at %s',
    (name) => {
      remove('model.onnx')
      write(name, 'x')
      expect(readModelFolder(folder).network).toBe(path.join(folder, name))
    },
  )

  test('the pooling is read from the model', () => {
    expect(readModelFolder(folder).pooling).toBe('mean')
    write('1_Pooling/config.json', { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false })
    expect(readModelFolder(folder).pooling).toBe('first')
    write('1_Pooling/config.json', { pooling_mode_mean_tokens: true })
    expect(readModelFolder(folder).pooling).toBe('mean')
  })
})

describe('a model folder is rejected with a fix', () => {
  const refusal = (part: string) =>
    expect.objectContaining({
      code: 'embedding_failed',
      detail: expect.stringContaining(part) as string,
      hint: expect.stringMatching(/./) as string,
    }) as Error

  test('a missing model folder is rejected', () => {
    fs.rmSync(folder, { recursive: true })
    expect(() => readModelFolder(folder)).toThrow(refusal('there is no folder'))
    fs.writeFileSync(folder, 'a file')
    expect(() => readModelFolder(folder)).toThrow(refusal('there is no folder'))
  })
  test('a model folder without a network is rejected', () => {
    remove('model.onnx')
    expect(() => readModelFolder(folder)).toThrow(refusal('no model.onnx'))
  })
  test('a model folder without a vocabulary is rejected', () => {
    remove('tokenizer.json')
    expect(() => readModelFolder(folder)).toThrow(refusal('neither tokenizer.json nor vocab.txt'))
  })
  const rules = tinyTokenizer()
  test.each<[string, unknown, string]>([
    ['is no JSON', '{', 'tokenizer.json'],
    ['is empty', {}, 'normalizer'],
    ['reads texts in another way', { ...rules, model: { ...rules.model, type: 'BPE' } }, 'model.type'],
    ['cuts words in another way', { ...rules, pre_tokenizer: { type: 'Metaspace' } }, 'pre_tokenizer.type'],
    ['has no numbers', { ...rules, model: { ...rules.model, vocab: { a: 'b' } } }, 'model.vocab'],
    [
      'lacks a special piece',
      { ...rules, model: { ...rules.model, vocab: { '[UNK]': 0, '[CLS]': 1 } } },
      '[SEP]',
    ],
  ])('a model folder whose vocabulary %s is rejected', (_, content, part) => {
    write('tokenizer.json', content)
    expect(() => readModelFolder(folder)).toThrow(refusal(part))
  })
})
