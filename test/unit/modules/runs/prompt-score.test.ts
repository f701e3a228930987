import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { scorePrompt } from '../../../../src/modules/runs/prompt-score.ts'

const GOOD = [
  'Split src/parser/index.ts into one file for each subject, because it has 1,400 lines and every change conflicts.',
  'The last attempt failed at `createLexer()`, which is imported from three places.',
  'Done when npm test passes and `npm run check` is green; the public exports must stay as they are.',
  'Do not touch src/cli. Move at most one subject in each commit.',
  'Answer with a list of the new files, one line for each.',
].join('\n')
const reasonsOf = (prompt: string) =>
  Object.fromEntries(scorePrompt(prompt).reasons.map(({ name, points }) => [name, points]))

describe('the score of a prompt', () => {
  test('the score of a complete prompt is 100, with the reasons', () => {
    const { score, reasons } = scorePrompt(GOOD)
    expect(score).toBe(100)
    for (const { points, of, detail } of reasons) {
      expect(points).toBe(of)
      expect(detail).toMatch(/^(Found ".+"|\d+ characters)/)
    }
  })

  test.each([
    ['', 0],
    ['hm', 0],
    ['somehow', 0],
    ['make it better somehow', 11],
  ])('the score of %j is %d', (prompt, score) => expect(scorePrompt(prompt).score).toBe(score))

  test('the score grows with every part of a prompt', () => {
    const steps = [
      'the parser',
      'Fix the parser.',
      'Fix the parser in src/parser.ts.',
      'Fix the parser in src/parser.ts, `parseRow()` fails for empty rows.',
      'Fix the parser in src/parser.ts, `parseRow()` fails for empty rows. Done when npm test passes.',
      'Fix the parser in src/parser.ts, `parseRow()` fails for empty rows. Done when npm test passes. Do not change its exports, only its insides.',
    ]
    const scores = steps.map((prompt) => scorePrompt(prompt).score)
    expect(scores).toEqual([...new Set(scores)].sort((a, b) => a - b))
  })

  test.each([
    ['goal', 'Rename the field.', 'The field has a wrong name.'],
    ['done_criteria', 'Done when the tests pass.', 'Thanks.'],
    ['constraints', 'Do not add dependencies; keep it under 100 lines.', 'Be free.'],
    ['places', 'It is in src/hub/hub.ts, in `left()`.', 'It is somewhere in there.'],
    ['known', 'It fails with an error since Monday.', 'You will find out.'],
    ['answer_form', 'Answer with a patch.', 'Thanks.'],
  ])('the score distinguishes a %s from its absence', (name, with_it, without) => {
    expect(reasonsOf(with_it)[name]).toBeGreaterThan(0)
    expect(reasonsOf(without)[name]).toBe(0)
  })

  test('the score falls with empty phrases, down to a limit', () => {
    expect(reasonsOf(`${GOOD} etc`)).toMatchObject({ vague: -5 })
    expect(reasonsOf(`${GOOD} somehow stuff things asap whatever etc`)).toMatchObject({ vague: -15 })
    expect(scorePrompt(`${GOOD} etc`).score).toBe(95)
    expect(reasonsOf(GOOD)).not.toHaveProperty('vague')
  })

  test('the score has points for a suitable length', () => {
    const points = (length: number) => reasonsOf('x'.repeat(length))['length']
    expect([10, 15, 60, 120, 6_000, 10_000, 14_000].map(points)).toEqual([0, 0, 4, 10, 10, 5, 0])
  })

  test('the score is reproducible, between 0 and 100, and the sum of its reasons', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (prompt) => {
        const { score, reasons } = scorePrompt(prompt)
        expect(scorePrompt(prompt)).toEqual({ score, reasons })
        const sum = reasons.reduce((total, { points }) => total + points, 0)
        expect(score).toBe(Math.min(100, Math.max(0, sum)))
        expect(Number.isInteger(score)).toBe(true)
      }),
    )
  })

  test.each([
    'a',
    '-',
    '/',
    '`',
    '\n',
    ' ',
    '.',
    'a/',
    'a.',
    '\n ',
    'to ',
    '`a',
    'leave ',
    'http',
    'test must ',
  ])('the score of a prompt that repeats %j takes linear time', (piece) => {
    const prompt = piece.repeat(LIMITS.prompt_length_max / piece.length)
    // A pattern with quadratic time would exceed the test's time limit.
    for (let n = 0; n < 20; n += 1) expect(scorePrompt(prompt).score).toBeLessThan(60)
  })
})
