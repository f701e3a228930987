import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { isHome, prepareHome, resolveHome, type Home } from '../../../src/system/config/home.ts'
import { removedHome } from '../../../src/bridge/removed-home.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

let home: Home
beforeEach(() => {
  home = resolveHome({}, path.join(temporaryDirectory(), 'home'))
})
const remove = () => fs.rmSync(home.root, { recursive: true })

test('a home that existed at the start and is gone is refused until it exists again', () => {
  prepareHome(home)
  const removed = removedHome(home.root, () => isHome(home))
  expect(removed()).toBeNull()
  remove()
  expect(removed()).toMatchObject({ code: 'hub_unreachable' })
  prepareHome(home)
  expect(removed()).toBeNull()
})

test('a home that is created after the start and removed later is refused', () => {
  const removed = removedHome(home.root, () => isHome(home))
  expect(removed()).toBeNull()
  prepareHome(home)
  expect(removed()).toBeNull()
  remove()
  expect(removed()).toMatchObject({ code: 'hub_unreachable' })
})

test('a directory that contains only foreign files counts as a removed home', () => {
  prepareHome(home)
  const removed = removedHome(home.root, () => isHome(home))
  fs.writeFileSync(path.join(home.root, 'letters.txt'), 'mine')
  for (const name of ['secrets', 'hub', 'logs', 'spool']) fs.rmdirSync(path.join(home.root, name))
  expect(removed()).toMatchObject({ code: 'hub_unreachable' })
})
