import { describe, expect, test } from 'vitest'
import { Problem, TurnbellError } from '../../../src/contracts/errors.ts'
import { newInstance, problemOutput } from '../../../src/system/problem-output.ts'

const refusal = new TurnbellError('usage_invalid', { detail: 'No persona is named.', hint: 'Name one.' })

describe('an error on the command line', () => {
  test('is title, detail and hint on stderr', () => {
    expect(problemOutput(refusal, 'i1', { json: false })).toEqual({
      stdout: '',
      stderr:
        'error The command was not understood (usage_invalid)\n      No persona is named.\nhint  Name one.\n',
    })
  })

  test('with --json is the problem object on stdout and nothing else', () => {
    const { stdout, stderr } = problemOutput(refusal, 'i1', { json: true })
    expect(Problem.parse(JSON.parse(stdout))).toMatchObject({
      code: 'usage_invalid',
      instance: 'urn:turnbell:instance:i1',
    })
    expect(stderr).toBe('')
  })

  test.each([true, false])('that is a bug shows its stack (json: %s)', (json) => {
    const { stderr } = problemOutput(new RangeError('planted'), 'i1', { json })
    expect(stderr).toMatch(/RangeError: planted\n\s+at /)
  })

  test('has an instance of its own', () => {
    expect(newInstance()).not.toBe(newInstance())
  })
})
