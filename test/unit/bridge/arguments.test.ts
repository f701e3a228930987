/** Tests the arguments of `turnbell mcp`. */
import { describe, expect, test } from 'vitest'
import { parseArguments, narrowingQuery } from '../../../src/bridge/arguments.ts'

const query = (...argv: string[]) => narrowingQuery(parseArguments(argv))

describe('several facets or facades', () => {
  test.each([
    [['--facet', 'core', 'work'], '?facet=core&facet=work'],
    [['--facet', 'core', '--facet', 'work'], '?facet=core&facet=work'],
    [
      ['--facet=core', '--persona', 'ada', '--facade', 'git', 'signals', 'store'],
      '?facet=core&facade=git&facade=signals&facade=store',
    ],
    [['--facade', 'git', '--read-only', '--facet', 'core'], '?facet=core&facade=git&read_only=1'],
  ])('several facets are accepted after one flag or after one flag each: %j', (argv, expected) => {
    expect(query(...argv)).toBe(expected)
  })
})

test('the query contains no bound that was not given', () => {
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
  [['--detail', 'tiny'], '--detail: found tiny, expected one of full, compact, micro'],
])('unknown arguments are refused: %j', (argv, detail) => {
  expect(() => parseArguments(argv)).toThrowError(
    expect.objectContaining({
      code: 'usage_invalid',
      detail: expect.stringContaining(detail) as string,
    }) as Error,
  )
})
