import { describe, expect, test } from 'vitest'
import { Problem, TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { newInstance, problemOutput } from '../../../../src/system/process/problem-output.ts'

const refusal = new TurnbellError('alias_taken', { detail: 'Project 01J has it.', hint: 'Choose another.' })
const mistake = new TurnbellError('usage_invalid', { detail: 'no persona is named.', hint: 'Name one.' })

describe('an error on the command line', () => {
  test('an error on the command line is title, detail and hint on stderr', () => {
    expect(problemOutput(refusal, 'i1', { json: false })).toEqual({
      stdout: '',
      stderr:
        'error The alias belongs to another project (alias_taken)\n      Project 01J has it.\nhint  Choose another.\n',
    })
  })

  test('the title of a usage error is its detail', () => {
    expect(problemOutput(mistake, 'i1', { json: false }).stderr).toBe(
      'error No persona is named (usage_invalid)\nhint  Name one.\n',
    )
    expect(JSON.parse(problemOutput(mistake, 'i1', { json: true }).stdout)).toMatchObject({
      title: 'No persona is named',
      detail: 'no persona is named.',
    })
  })

  test('an error with --json is the problem object on stdout and nothing else', () => {
    const { stdout, stderr } = problemOutput(refusal, 'i1', { json: true })
    expect(Problem.parse(JSON.parse(stdout))).toMatchObject({
      code: 'alias_taken',
      instance: 'urn:turnbell:instance:i1',
    })
    expect(stderr).toBe('')
  })

  test.each([true, false])('that is a bug shows its stack (json: %s)', (json) => {
    const { stderr } = problemOutput(new RangeError('planted'), 'i1', { json })
    expect(stderr).toMatch(/RangeError: planted\n\s+at /)
  })

  test('an error has an instance', () => {
    expect(newInstance()).not.toBe(newInstance())
  })
})
