import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { nearestMemory, nearestRepository } from '../../../../src/ports/path-inspector.ts'
import { prepareHome, resolveHome } from '../../../../src/system/config/home.ts'
import { systemPathInspector } from '../../../../src/system/files/path-inspector.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const place = () => fs.realpathSync(temporaryDirectory())
const places = systemPathInspector({ root: '/home/of/no-user' })

test('the real path of a link is its target', () => {
  const top = place()
  fs.mkdirSync(path.join(top, 'a/src'), { recursive: true })
  fs.symlinkSync('a', path.join(top, 'b'))
  fs.symlinkSync(path.join(top, 'b'), path.join(top, 'c'))
  expect(places.realPath(path.join(top, 'c/src'))).toBe(path.join(top, 'a/src'))
  expect(places.realPath(path.join(top, 'a'))).toBe(path.join(top, 'a'))
})

test('a missing path is resolved below its existing parent', () => {
  const top = place()
  fs.mkdirSync(path.join(top, 'a'))
  fs.symlinkSync('a', path.join(top, 'b'))
  fs.symlinkSync('nowhere', path.join(top, 'broken'))
  fs.symlinkSync('circle', path.join(top, 'circle'))
  fs.writeFileSync(path.join(top, 'file'), '')
  expect(places.realPath(path.join(top, 'b/new/one'))).toBe(path.join(top, 'a/new/one'))
  for (const name of ['broken', 'broken/x', 'circle/x', 'file/x', 'none']) {
    expect(places.realPath(path.join(top, name))).toBe(path.join(top, name))
  }
  expect(places.realPath('/')).toBe('/')
})

describe('a directory', () => {
  /** Ada's home in her own directory, a shop below it that has a memory, and a second home with a different name. */
  function world() {
    const top = place()
    const at = (...names: string[]) => path.join(top, ...names)
    const home = resolveHome({}, at('ada', '.turnbell'))
    prepareHome(home)
    prepareHome(resolveHome({}, at('bob', '.turnbell')))
    fs.mkdirSync(at('ada/shop/.turnbell/decisions'), { recursive: true })
    fs.mkdirSync(at('ada/shop/src/auth'), { recursive: true })
    return { at, home, looked: systemPathInspector(home) }
  }

  test('a directory has its own memory or the nearest one above it', () => {
    const { at, looked } = world()
    for (const name of ['shop', 'shop/src/auth', 'shop/gone/since', 'shop/.turnbell/decisions'])
      expect(nearestMemory(looked, at('ada', name)), name).toBe(at('ada/shop'))
    expect(nearestMemory(looked, at('ada/shop/src/auth'), at('ada/shop/src'))).toBeNull()
    expect(nearestMemory(looked, at('ada/shop'), at('ada/shop'))).toBeNull()
    expect(nearestMemory(looked, at('.'))).toBeNull()
    expect(nearestMemory(looked, '/')).toBeNull()
  })

  // Only root can change the owner of an entry.
  test.runIf(process.getuid?.() === 0)('a memory of another user above a directory is not used', () => {
    const { at, looked } = world()
    fs.chownSync(at('ada/shop/.turnbell'), 1, 1)
    expect(nearestMemory(looked, at('ada/shop/src'))).toBeNull()
    expect(nearestMemory(looked, at('ada/shop'))).toBe(at('ada/shop'))
    fs.mkdirSync(at('ada/own'))
    fs.symlinkSync(at('ada/own'), at('ada/shop/src/.turnbell'))
    fs.lchownSync(at('ada/shop/src/.turnbell'), 1, 1)
    expect(nearestMemory(looked, at('ada/shop/src/auth'))).toBeNull()
    fs.mkdirSync(at('ada/shop/.git'))
    expect(nearestRepository(looked, at('ada/shop/src'))).toBe(at('ada/shop'))
    fs.chownSync(at('ada/shop/.git'), 1, 1)
    expect(nearestRepository(looked, at('ada/shop/src'))).toBeNull()
    expect(nearestRepository(looked, at('ada/shop'))).toBe(at('ada/shop'))
  })

  test('a directory has no memory if its folder is a home: the own one, another one, or one behind a link', () => {
    const { at, home, looked } = world()
    fs.symlinkSync(home.root, at('.turnbell'))
    for (const name of ['.', 'ada', 'bob']) {
      expect(looked.hasMemory(at(name)), name).toBe(false)
      expect(looked.hasHome(at(name)), name).toBe(true)
    }
    expect(nearestMemory(looked, at('ada/elsewhere'))).toBeNull()
    // A different home than the configured one.
    expect(places.hasHome(at('ada'))).toBe(true)
    for (const name of ['ada/shop', 'ada/elsewhere', 'ada/shop/.turnbell', 'nobody'])
      expect(looked.hasHome(at(name)), name).toBe(false)
  })

  test('a home and the directories in it are in a home', () => {
    const { at, looked } = world()
    fs.symlinkSync(at('ada/.turnbell/hub'), at('link'))
    for (const name of ['ada/.turnbell', 'ada/.turnbell/hub/records', 'bob/.turnbell/none', 'link'])
      expect(looked.hasHome(at(name)), name).toBe(true)
    // With a different name, only the own one, before it has content.
    const own = systemPathInspector({ root: at('own') })
    fs.mkdirSync(at('own/.turnbell'), { recursive: true })
    expect([own.hasHome(at('own')), own.hasMemory(at('own'))]).toEqual([true, false])
    expect(own.hasHome(at('own/shop'))).toBe(false)
  })

  test('a directory of a future home is in a home', () => {
    const { at } = world()
    expect(systemPathInspector({ root: at('cyd/.turnbell') }).hasHome(at('cyd'))).toBe(true)
  })

  test('a different entry of that name is not a memory', () => {
    const { at } = world()
    fs.mkdirSync(at('file/src'), { recursive: true })
    fs.writeFileSync(at('file/.turnbell'), '')
    fs.mkdirSync(at('project/.turnbell'), { recursive: true })
    fs.writeFileSync(at('project/.turnbell/secrets'), '')
    fs.symlinkSync('nowhere', at('file/src/.turnbell'))
    for (const name of ['file', 'file/src', 'file/.turnbell', 'project/.turnbell/secrets']) {
      expect([name, places.hasMemory(at(name)), places.hasHome(at(name))]).toEqual([name, false, false])
    }
    expect(places.hasMemory(at('project'))).toBe(true)
  })

  test.skipIf(process.getuid?.() === 0)('an unreadable directory counts as a home', () => {
    const { at } = world()
    fs.mkdirSync(at('theirs/.turnbell'), { recursive: true })
    fs.chmodSync(at('theirs/.turnbell'), 0)
    expect([places.hasMemory(at('theirs')), places.hasHome(at('theirs'))]).toEqual([false, true])
  })

  test('a directory is in the nearest work tree of git', () => {
    const { at } = world()
    fs.mkdirSync(at('ada/shop/.git'))
    fs.mkdirSync(at('ada/shop/lib/src'), { recursive: true })
    fs.writeFileSync(at('ada/shop/lib/.git'), 'gitdir: ../.git/modules/lib\n')
    expect(nearestRepository(places, at('ada/shop/src/auth'))).toBe(at('ada/shop'))
    expect(nearestRepository(places, at('ada/shop/lib/src'))).toBe(at('ada/shop/lib'))
    expect(nearestRepository(places, at('ada'))).toBeNull()
  })
})
