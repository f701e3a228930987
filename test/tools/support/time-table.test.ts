import { expect, test } from 'vitest'
import { clock, timeTable } from '../../../scripts/time-table.mjs'

test('a table has a line for each step, and their sum', () => {
  const rows = [
    { name: 'build', seconds: 4.4 },
    { name: 'tests: fast', seconds: 65, failed: true, note: '12 passed' },
  ]
  expect(timeTable(rows).split('\n')).toEqual([
    'ok    build          0:04',
    'FAIL  tests: fast    1:05  12 passed',
    '      total          1:09',
  ])
})

test('a clock rounds before it divides', () => {
  expect(clock(59.6)).toBe('  1:00')
})
