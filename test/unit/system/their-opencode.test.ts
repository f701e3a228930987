import { expect, test } from 'vitest'
import { isOpencode } from '../../../src/system/their-opencode.ts'

test.each([
  [['opencode', 'acp'], true],
  [['/opt/bin/opencode', 'acp', '--print-logs'], true],
  [['gemini', '--acp'], false],
  [['npx', 'opencode', 'acp'], false],
  [[], false],
])('%j starts opencode by its name: %s', (argv, is) => {
  expect(isOpencode(argv)).toBe(is)
})
