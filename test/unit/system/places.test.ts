import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { memoryAround, repositoryAround } from '../../../src/ports/places.ts'
import { prepareHome, resolveHome } from '../../../src/system/home.ts'
import { systemPlaces } from '../../../src/system/places.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const place = () => fs.realpathSync(temporaryDirectory())
const places = systemPlaces({ root: '/home/of/nobody' })

test('a path leads where its links end', () => {
  const top = place()
  fs.mkdirSync(path.join(top, 'a/src'), { recursive: true })
  fs.symlinkSync('a', path.join(top, 'b'))
  fs.symlinkSync(path.join(top, 'b'), path.join(top, 'c'))
  expect(places.real(path.join(top, 'c/src'))).toBe(path.join(top, 'a/src'))
  expect(places.real(path.join(top, 'a'))).toBe(path.join(top, 'a'))
})

test('what is not there is below what is', () => {
  const top = place()
  fs.mkdirSync(path.join(top, 'a'))
  fs.symlinkSync('a', path.join(top, 'b'))
  fs.symlinkSync('nowhere', path.join(top, 'broken'))
  fs.symlinkSync('circle', path.join(top, 'circle'))
  fs.writeFileSync(path.join(top, 'file'), '')
  expect(places.real(path.join(top, 'b/new/one'))).toBe(path.join(top, 'a/new/one'))
  for (const name of ['broken', 'broken/x', 'circle/x', 'file/x', 'none']) {
    expect(places.real(path.join(top, name))).toBe(path.join(top, name))
  }
  expect(places.real('/')).toBe('/')
})

describe('a directory', () => {
  /** Ada's home in her own directory, a shop below it that has a memory, and another home of another name. */
  function world() {
    const top = place()
    const at = (...names: string[]) => path.join(top, ...names)
    const home = resolveHome({}, at('ada', '.turnbell'))
    prepareHome(home)
    prepareHome(resolveHome({}, at('bob', '.turnbell')))
    fs.mkdirSync(at('ada/shop/.turnbell/decisions'), { recursive: true })
    fs.mkdirSync(at('ada/shop/src/auth'), { recursive: true })
    return { at, home, looked: systemPlaces(home) }
  }

  test('has a memory or the nearest one above it has', () => {
    const { at, looked } = world()
    for (const name of ['shop', 'shop/src/auth', 'shop/gone/since', 'shop/.turnbell/decisions'])
      expect(memoryAround(looked, at('ada', name)), name).toBe(at('ada/shop'))
    expect(memoryAround(looked, at('ada/shop/src/auth'), at('ada/shop/src'))).toBeNull()
    expect(memoryAround(looked, at('ada/shop'), at('ada/shop'))).toBeNull()
    expect(memoryAround(looked, at('.'))).toBeNull()
    expect(memoryAround(looked, '/')).toBeNull()
  })

  // Only root can give something to somebody else.
  test.runIf(process.getuid?.() === 0)('is in no memory of somebody else’s that it was not told of', () => {
    const { at, looked } = world()
    fs.chownSync(at('ada/shop/.turnbell'), 1, 1)
    expect(memoryAround(looked, at('ada/shop/src'))).toBeNull()
    expect(memoryAround(looked, at('ada/shop'))).toBe(at('ada/shop'))
    fs.mkdirSync(at('ada/own'))
    fs.symlinkSync(at('ada/own'), at('ada/shop/src/.turnbell'))
    fs.lchownSync(at('ada/shop/src/.turnbell'), 1, 1)
    expect(memoryAround(looked, at('ada/shop/src/auth'))).toBeNull()
    fs.mkdirSync(at('ada/shop/.git'))
    expect(repositoryAround(looked, at('ada/shop/src'))).toBe(at('ada/shop'))
    fs.chownSync(at('ada/shop/.git'), 1, 1)
    expect(repositoryAround(looked, at('ada/shop/src'))).toBeNull()
    expect(repositoryAround(looked, at('ada/shop'))).toBe(at('ada/shop'))
  })

  test('has none where its folder is a home: the own one, that of another, or one behind a link', () => {
    const { at, home, looked } = world()
    fs.symlinkSync(home.root, at('.turnbell'))
    for (const name of ['.', 'ada', 'bob']) {
      expect(looked.holdsMemory(at(name)), name).toBe(false)
      expect(looked.holdsHome(at(name)), name).toBe(true)
    }
    expect(memoryAround(looked, at('ada/elsewhere'))).toBeNull()
    // Another home than the one that was told.
    expect(places.holdsHome(at('ada'))).toBe(true)
    for (const name of ['ada/shop', 'ada/elsewhere', 'ada/shop/.turnbell', 'nobody'])
      expect(looked.holdsHome(at(name)), name).toBe(false)
  })

  test('is a home itself, or lies in one', () => {
    const { at, looked } = world()
    fs.symlinkSync(at('ada/.turnbell/hub'), at('link'))
    for (const name of ['ada/.turnbell', 'ada/.turnbell/hub/records', 'bob/.turnbell/none', 'link'])
      expect(looked.holdsHome(at(name)), name).toBe(true)
    // Of another name, only the own one, before anything is in it.
    const own = systemPlaces({ root: at('own') })
    fs.mkdirSync(at('own/.turnbell'), { recursive: true })
    expect([own.holdsHome(at('own')), own.holdsMemory(at('own'))]).toEqual([true, false])
    expect(own.holdsHome(at('own/shop'))).toBe(false)
  })

  test('will be the one of a home that is not made yet', () => {
    const { at } = world()
    expect(systemPlaces({ root: at('cyd/.turnbell') }).holdsHome(at('cyd'))).toBe(true)
  })

  test('has nothing where something else is called so', () => {
    const { at } = world()
    fs.mkdirSync(at('file/src'), { recursive: true })
    fs.writeFileSync(at('file/.turnbell'), '')
    fs.mkdirSync(at('project/.turnbell'), { recursive: true })
    fs.writeFileSync(at('project/.turnbell/secrets'), '')
    fs.symlinkSync('nowhere', at('file/src/.turnbell'))
    for (const name of ['file', 'file/src', 'file/.turnbell', 'project/.turnbell/secrets']) {
      expect([name, places.holdsMemory(at(name)), places.holdsHome(at(name))]).toEqual([name, false, false])
    }
    expect(places.holdsMemory(at('project'))).toBe(true)
  })

  test.skipIf(process.getuid?.() === 0)('is a home where its owner lets nobody look', () => {
    const { at } = world()
    fs.mkdirSync(at('theirs/.turnbell'), { recursive: true })
    fs.chmodSync(at('theirs/.turnbell'), 0)
    expect([places.holdsMemory(at('theirs')), places.holdsHome(at('theirs'))]).toEqual([false, true])
  })

  test('lies in the nearest work tree of git', () => {
    const { at } = world()
    fs.mkdirSync(at('ada/shop/.git'))
    fs.mkdirSync(at('ada/shop/lib/src'), { recursive: true })
    fs.writeFileSync(at('ada/shop/lib/.git'), 'gitdir: ../.git/modules/lib\n')
    expect(repositoryAround(places, at('ada/shop/src/auth'))).toBe(at('ada/shop'))
    expect(repositoryAround(places, at('ada/shop/lib/src'))).toBe(at('ada/shop/lib'))
    expect(repositoryAround(places, at('ada'))).toBeNull()
  })
})
