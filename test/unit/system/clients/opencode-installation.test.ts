import { expect, test } from 'vitest'
import { isOpencode } from '../../../../src/system/clients/opencode-installation.ts'

test.each([
  [['opencode', 'acp'], true],
  [['/opt/bin/opencode', 'acp', '--print-logs'], true],
  [['gemini', '--acp'], false],
  [['npx', 'opencode', 'acp'], false],
  [[], false],
])('%j runs opencode by its name: %s', (argv, is) => {
  expect(isOpencode(argv)).toBe(is)
})
