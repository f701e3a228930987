import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commandWords, splitWords } from '../../../src/cli/personas/command-words.ts'

describe('a single --command', () => {
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
  ])('the line %s is split into words', (line, words) => expect(splitWords(line)).toEqual(words))

  test.each([`a 'b`, `a "b`])('the line %s is refused for a missing quote', (line) => {
    expect(() => splitWords(line)).toThrow(/without a closing one/)
  })

  test('any words that are quoted are split into the same words', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(' ')
        expect(splitWords(line)).toEqual(words)
      }),
    )
  })
})

test('several --command options are used as words unchanged', () => {
  expect(commandWords(['my agent', '--flag=a b', '$x'])).toEqual(['my agent', '--flag=a b', '$x'])
})

test.each([[['']], [['   ']], [['', 'x']]])('--command %j is refused without a program', (given) => {
  expect(() => commandWords(given)).toThrow(/names no program/)
})

test.each([[["agent --flag ''"]], [['agent', '']]])('--command %j is refused for an empty word', (given) => {
  expect(() => commandWords(given)).toThrow(expect.objectContaining({ code: 'usage_invalid' }))
})
