import { expect, test } from 'vitest'
import { codexVersion } from '../../../src/system/codex-version.ts'

test.each([
  ['codex-cli 0.169.0', '0.169.0'],
  ['turnbell/0.169.0 (Debian 12.0.0; x86_64) xterm (turnbell; 0.1.0)', '0.169.0'],
  ['codex-cli 0.169.4-alpha.2', '0.169.4-alpha.2'],
])('%s is known', (text, version) => {
  expect(codexVersion(text)).toEqual({ version, known: true, remark: null })
})

test.each([
  ['codex-cli 0.150.1', /older than 0\.169.*queue/],
  ['codex-cli 0.170.0', /newer than 0\.169/],
  ['codex-cli 1.0.0', /newer than 0\.169/],
  ['codex-cli nightly', /does not tell its version/],
  ['', /does not tell its version/],
])('%j is not known, and the remark says what that may mean', (text, remark) => {
  expect(codexVersion(text)).toMatchObject({ known: false, remark: expect.stringMatching(remark) as string })
})
