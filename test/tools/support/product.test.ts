import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { isFresh } from '../../support/command/product.mjs'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('a build is fresh until one of its sources changes or is removed', () => {
  const place = temporaryDirectory()
  const at = (file: string, seconds: number) => fs.utimesSync(path.join(place, file), seconds, seconds)
  fs.mkdirSync(path.join(place, 'src/room'), { recursive: true })
  for (const file of ['built', 'src/room/one.ts', 'config']) fs.writeFileSync(path.join(place, file), '')
  for (const file of ['src', 'src/room', 'src/room/one.ts', 'config']) at(file, 100)
  const fresh = () =>
    isFresh(path.join(place, 'built'), [path.join(place, 'src'), path.join(place, 'config')])
  at('built', 100)
  expect(fresh()).toBe(true)
  at('src/room/one.ts', 101)
  expect(fresh()).toBe(false)
  at('built', 101)
  expect(fresh()).toBe(true)
  fs.rmSync(path.join(place, 'src/room/one.ts'))
  expect(fresh()).toBe(false)
  at('src/room', 100)
  at('config', 102)
  expect(fresh()).toBe(false)
  fs.rmSync(path.join(place, 'built'))
  expect(fresh()).toBe(false)
})
