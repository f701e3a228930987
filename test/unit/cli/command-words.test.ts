import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commandWords, splitWords } from '../../../src/cli/personas/command-words.ts'

describe('one --command', () => {
  test.each([
    ['agent --once', ['agent', '--once']],
    ['  agent \t --once  ', ['agent', '--once']],
    [`sh -c 'echo "$HOME" | cat'`, ['sh', '-c', 'echo "$HOME" | cat']],
    [`a "b c" d\\ e`, ['a', 'b c', 'd e']],
    [`a "" ''`, ['a', '', '']],
    [`a 'b\\c'`, ['a', 'b\\c']],
    [`a "b\\c" "d\\"e"`, ['a', 'b\\c', 'd"e']],
    [`pre"mid"'post'`, ['premidpost']],
    ['a\\', ['a\\']],
  ])('%s is split into words', (line, words) => expect(splitWords(line)).toEqual(words))

  test.each([`a 'b`, `a "b`])('%s lacks a quote', (line) => {
    expect(() => splitWords(line)).toThrow(/without a closing one/)
  })

  test('any words come back when each is quoted', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(' ')
        expect(splitWords(line)).toEqual(words)
      }),
    )
  })
})

test('several --command are words as they stand', () => {
  expect(commandWords(['my agent', '--flag=a b', '$x'])).toEqual(['my agent', '--flag=a b', '$x'])
})

test.each([[['']], [['   ']], [['', 'x']]])('%j names no program', (given) => {
  expect(() => commandWords(given)).toThrow(/names no program/)
})

test.each([[["agent --flag ''"]], [['agent', '']]])(
  '%j has a word that no configuration can hold',
  (given) => {
    expect(() => commandWords(given)).toThrow(/word without a letter/)
  },
)
