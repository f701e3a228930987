/** What `turnbell mcp` is told. */
import { describe, expect, test } from 'vitest'
import { argumentsIn, queryOf } from '../../../src/transports/bridge/arguments.ts'

const query = (...argv: string[]) => queryOf(argumentsIn(argv))

describe('several facets or facades', () => {
  test.each([
    [['--facet', 'core', 'work'], '?facet=core&facet=work'],
    [['--facet', 'core', '--facet', 'work'], '?facet=core&facet=work'],
    [
      ['--facet=core', '--persona', 'ada', '--facade', 'git', 'signals', 'store'],
      '?facet=core&facade=git&facade=signals&facade=store',
    ],
    [['--facade', 'git', '--read-only', '--facet', 'core'], '?facet=core&facade=git&read_only=1'],
  ])('are told one after the other, or each by itself: %j', (argv, expected) => {
    expect(query(...argv)).toBe(expected)
  })
})

test('what is not told is not asked for', () => {
  expect(query('--persona', 'ada')).toBe('')
  expect(query('--detail', 'micro')).toBe('?detail=micro')
})

test.each([
  [['work'], "Unexpected argument 'work'"],
  [['--persona', 'ada', 'bob'], "Unexpected argument 'bob'"],
  [['--read-only', 'core'], "Unexpected argument 'core'"],
  [['--facets', 'core'], "Unknown option '--facets'"],
  [['--facet'], '--facet <value>'],
  [['--facet=core', 'work'], "Unexpected argument 'work'"],
  [['--detail', 'tiny'], '--detail is one of full, compact, micro, not tiny'],
])('what it does not understand is refused: %j', (argv, detail) => {
  expect(() => argumentsIn(argv)).toThrowError(
    expect.objectContaining({
      code: 'usage_invalid',
      detail: expect.stringContaining(detail) as string,
    }) as Error,
  )
})
