import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ensureSocketDirectory, personaPaths, resolveHome } from '../../../src/system/config/home.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Paths of a persona whose home is too deep for a socket, with the directory that they move to. */
function farAway() {
  const runtime = temporaryDirectory()
  const home = resolveHome({ TURNBELL_HOME: path.join(runtime, 'deep'.repeat(30)) })
  const paths = personaPaths(home, 'local', 'ada', { XDG_RUNTIME_DIR: runtime })
  return { paths, parent: path.join(runtime, 'turnbell') }
}

describe('sockets outside the home', () => {
  test('sockets outside the home are in a directory of their own, private like its parent', () => {
    const { paths, parent } = farAway()
    ensureSocketDirectory(paths)
    expect(path.dirname(paths.socket_dir)).toBe(parent)
    expect([parent, paths.socket_dir].map((each) => fs.statSync(each).mode & 0o777)).toEqual([0o700, 0o700])
  })

  test('a parent that others can write to is rejected', () => {
    const { paths, parent } = farAway()
    fs.mkdirSync(parent)
    fs.chmodSync(parent, 0o777)
    expect(() => ensureSocketDirectory(paths)).toThrow(
      expect.objectContaining({ code: 'home_not_permitted' }),
    )
  })

  test('a parent that is a link is rejected', () => {
    const { paths, parent } = farAway()
    fs.symlinkSync(temporaryDirectory(), parent)
    expect(() => ensureSocketDirectory(paths)).toThrow(/is a symbolic link/)
  })
})
