import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { prepareHome, resolveHome } from '../../../../src/system/config/home.ts'
import { ensureSecrets, readOperatorToken, readSecrets } from '../../../../src/system/config/secrets.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

function homeWithSecrets() {
  const home = resolveHome({}, path.join(temporaryDirectory(), "zoë's home"))
  prepareHome(home)
  return { home, ...ensureSecrets(home) }
}

test('a home without secrets has no token yet', () => {
  expect(readOperatorToken(resolveHome({}, temporaryDirectory()))).toBeNull()
})

test('secrets are created once', () => {
  const { home, operator_token, signing_key } = homeWithSecrets()
  expect(ensureSecrets(home)).toEqual({ operator_token, signing_key })
  expect(readOperatorToken(home)).toBe(operator_token)
})

test('a secret that others can read is rejected, with a command that a shell accepts', () => {
  const { home } = homeWithSecrets()
  fs.chmodSync(home.operator_token, 0o644)
  expect(() => readOperatorToken(home)).toThrow(
    expect.objectContaining({
      code: 'home_not_permitted',
      hint: `chmod 600 '${home.operator_token.replace("'", `'\\''`)}'`,
    }),
  )
})

test('an unreadable secret is an expected error', () => {
  const { home } = homeWithSecrets()
  const read = vi.spyOn(fs, 'statSync').mockImplementation(() => {
    throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
  })
  onTestFinished(() => read.mockRestore())
  expect(() => readOperatorToken(home)).toThrow(expect.objectContaining({ code: 'home_not_permitted' }))
})

test.each([
  ['of one byte', 'x'],
  ['cut in half', 'a'.repeat(32)],
  ['one character too short', 'a'.repeat(63)],
  ['that is empty', ''],
])('a signing key %s is rejected, with the file to remove', (_, text) => {
  const { home } = homeWithSecrets()
  fs.writeFileSync(home.signing_key, `${text}\n`)
  const refusal = expect.objectContaining({
    code: 'home_not_permitted',
    hint: expect.stringContaining('signing.key') as string,
  }) as Error
  expect(() => ensureSecrets(home)).toThrow(refusal)
  expect(() => readSecrets(home)).toThrow(refusal)
  fs.rmSync(home.signing_key)
  expect(ensureSecrets(home).signing_key).toHaveLength(64)
})

test.each([['x'], ['']])('an operator token of the text %j is refused by the hub', (text) => {
  const { home } = homeWithSecrets()
  fs.writeFileSync(home.operator_token, text)
  expect(() => ensureSecrets(home)).toThrow(expect.objectContaining({ code: 'home_not_permitted' }))
})
