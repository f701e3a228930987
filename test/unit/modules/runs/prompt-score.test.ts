import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits.ts'
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
  test('is full where everything is said, and says what was found', () => {
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
  ])('%j is worth %d', (prompt, score) => expect(scorePrompt(prompt).score).toBe(score))

  test('grows with what is said', () => {
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
  ])('knows a %s from none', (name, with_it, without) => {
    expect(reasonsOf(with_it)[name]).toBeGreaterThan(0)
    expect(reasonsOf(without)[name]).toBe(0)
  })

  test('falls with words that say nothing, up to a bound', () => {
    expect(reasonsOf(`${GOOD} etc`)).toMatchObject({ vague: -5 })
    expect(reasonsOf(`${GOOD} somehow stuff things asap whatever etc`)).toMatchObject({ vague: -15 })
    expect(scorePrompt(`${GOOD} etc`).score).toBe(95)
    expect(reasonsOf(GOOD)).not.toHaveProperty('vague')
  })

  test('has points for a length that says enough and can be kept in mind', () => {
    const points = (length: number) => reasonsOf('x'.repeat(length))['length']
    expect([10, 15, 60, 120, 6_000, 10_000, 14_000].map(points)).toEqual([0, 0, 4, 10, 10, 5, 0])
  })

  test('is the same every time, between 0 and 100, and the sum of its reasons', () => {
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
  ])('takes no longer for a prompt that is nothing but %j', (piece) => {
    const prompt = piece.repeat(LIMITS.prompt_length_max / piece.length)
    // A pattern that looks at everything from everywhere would not come back within the test's time.
    for (let n = 0; n < 20; n += 1) expect(scorePrompt(prompt).score).toBeLessThan(60)
  })
})
