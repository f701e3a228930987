import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { systemPlaces } from '../../../src/system/places.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const place = () => fs.realpathSync(temporaryDirectory())

test('a path leads where its links end', () => {
  const top = place()
  fs.mkdirSync(path.join(top, 'a/src'), { recursive: true })
  fs.symlinkSync('a', path.join(top, 'b'))
  fs.symlinkSync(path.join(top, 'b'), path.join(top, 'c'))
  expect(systemPlaces.real(path.join(top, 'c/src'))).toBe(path.join(top, 'a/src'))
  expect(systemPlaces.real(path.join(top, 'a'))).toBe(path.join(top, 'a'))
})

test('what is not there is below what is', () => {
  const top = place()
  fs.mkdirSync(path.join(top, 'a'))
  fs.symlinkSync('a', path.join(top, 'b'))
  fs.symlinkSync('nowhere', path.join(top, 'broken'))
  fs.symlinkSync('circle', path.join(top, 'circle'))
  fs.writeFileSync(path.join(top, 'file'), '')
  expect(systemPlaces.real(path.join(top, 'b/new/one'))).toBe(path.join(top, 'a/new/one'))
  for (const name of ['broken', 'broken/x', 'circle/x', 'file/x', 'none']) {
    expect(systemPlaces.real(path.join(top, name))).toBe(path.join(top, name))
  }
  expect(systemPlaces.real('/')).toBe('/')
})
