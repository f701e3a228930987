import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ensurePrivateDirectory } from '../../../../src/system/config/home.ts'
import { obstacleAt, moveAwayCommand } from '../../../../src/system/files/in-place.ts'
import { replaceEntry } from '../../../../src/system/files/atomic-write.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('an existing or missing directory has nothing in its place', () => {
  const root = temporaryDirectory()
  fs.symlinkSync(root, path.join(root, 'link'))
  for (const name of ['', 'missing', 'missing/below', 'link', 'link/missing'])
    expect(obstacleAt(path.join(root, name))).toBeNull()
})

test.each([
  ['a file', (at: string) => fs.writeFileSync(at, 'x')],
  ['a link to nowhere', (at: string) => fs.symlinkSync('/nowhere/at/all', at)],
])('%s in the place of a directory is found, also from below, and the hint moves it away', (_, put) => {
  const at = path.join(temporaryDirectory(), 'it is')
  put(at)
  const below = path.join(at, 'local', 'ada')
  expect([obstacleAt(at), obstacleAt(below)]).toEqual([at, at])
  for (const directory of [at, below]) {
    expect(() => ensurePrivateDirectory(directory)).toThrow(
      expect.objectContaining({
        code: 'home_not_permitted',
        hint: expect.stringContaining(moveAwayCommand(at)) as string,
      }),
    )
  }
  execFileSync('sh', ['-c', moveAwayCommand(at)])
  ensurePrivateDirectory(below)
  expect(fs.statSync(below).isDirectory()).toBe(true)
})

test.each([
  ['missing', () => {}],
  ['a file', (at: string) => fs.writeFileSync(at, 'x')],
  ['a directory', (at: string) => fs.mkdirSync(path.join(at, 'something'), { recursive: true })],
  ['a link to nowhere', (at: string) => fs.symlinkSync('/nowhere/at/all', at)],
])('an own file replaces any entry with its name: %s', (_, put) => {
  const at = path.join(temporaryDirectory(), 'daemon.pid')
  put(at)
  replaceEntry(at, '1\n')
  expect(fs.readFileSync(at, 'utf8')).toBe('1\n')
  expect(fs.readdirSync(path.dirname(at))).toEqual(['daemon.pid'])
})
