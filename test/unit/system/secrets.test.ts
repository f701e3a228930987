import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { prepareHome, resolveHome } from '../../../src/system/home.ts'
import { ensureSecrets, readOperatorToken } from '../../../src/system/secrets.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

function homeWithSecrets() {
  const home = resolveHome({}, path.join(temporaryDirectory(), "zoë's home"))
  prepareHome(home)
  return { home, ...ensureSecrets(home) }
}

test('a home without secrets has no token yet', () => {
  expect(readOperatorToken(resolveHome({}, temporaryDirectory()))).toBeNull()
})

test('secrets are made once', () => {
  const { home, operator_token, signing_key } = homeWithSecrets()
  expect(ensureSecrets(home)).toEqual({ operator_token, signing_key })
  expect(readOperatorToken(home)).toBe(operator_token)
})

test('one that others can read is refused, with a line that a shell takes', () => {
  const { home } = homeWithSecrets()
  fs.chmodSync(home.operator_token, 0o644)
  expect(() => readOperatorToken(home)).toThrow(
    expect.objectContaining({
      code: 'home_not_permitted',
      hint: `chmod 600 '${home.operator_token.replace("'", `'\\''`)}'`,
    }),
  )
})

test('one that cannot be read is no bug', () => {
  const { home } = homeWithSecrets()
  const read = vi.spyOn(fs, 'statSync').mockImplementation(() => {
    throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
  })
  onTestFinished(() => read.mockRestore())
  expect(() => readOperatorToken(home)).toThrow(expect.objectContaining({ code: 'home_not_permitted' }))
})
