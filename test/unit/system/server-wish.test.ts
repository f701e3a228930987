import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serverWish } from '../../../src/system/server-wish.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** How often somebody is found to have asked, by a shim that begins. */
function found(run_dir: string): number {
  let asked = 0
  const watch = serverWish(run_dir, 'opencode').onAsked(() => (asked += 1))
  onTestFinished(() => watch.close())
  return asked
}

test('whoever asked before is heard as long as they are there', () => {
  const run_dir = temporaryDirectory()
  expect(found(run_dir)).toBe(0)
  serverWish(run_dir, 'opencode').ask()
  expect(found(run_dir)).toBe(1)
})

test.each([
  [
    'of another start of the machine',
    JSON.stringify({ wish: 'x', pid: process.pid, started: 'another boot' }),
  ],
  ['that was not written to its end', '{"wish":"x","pi'],
  ['of nobody', '{}'],
])('a wish %s starts nothing', (_, text) => {
  const run_dir = temporaryDirectory()
  fs.writeFileSync(path.join(run_dir, 'opencode-wanted'), text)
  expect(found(run_dir)).toBe(0)
  expect(serverWish(run_dir, 'opencode').stands()).toBe(false)
})
