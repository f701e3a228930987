/** Modules of a checkout next to the build. */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { loadFromCheckout } from '../../../../src/system/git/checkout.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const builtIn = (root: string) => pathToFileURL(path.join(root, 'dist/hub.js')).href

test('a module next to dist/ is loaded', async () => {
  const root = temporaryDirectory()
  fs.mkdirSync(path.join(root, 'test'))
  fs.writeFileSync(path.join(root, 'test/beside.mjs'), 'export const word = "here"\n')
  expect(await loadFromCheckout('test/beside.mjs', builtIn(root))).toMatchObject({ word: 'here' })
})

test('a missing module is not loaded', async () => {
  expect(await loadFromCheckout('test/beside.mjs', builtIn(temporaryDirectory()))).toBeNull()
})

test('a broken module throws', async () => {
  const root = temporaryDirectory()
  fs.writeFileSync(path.join(root, 'broken.mjs'), 'throw new Error("broken")\n')
  await expect(loadFromCheckout('broken.mjs', builtIn(root))).rejects.toThrow('broken')
})
