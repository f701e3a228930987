import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serverRequest } from '../../../../src/system/clients/server-request.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** Number of requests that a starting shim receives. */
function found(run_dir: string): number {
  let asked = 0
  const watch = serverRequest(run_dir, 'opencode').onRequest(() => (asked += 1))
  onTestFinished(() => watch.close())
  return asked
}

test('an earlier request is delivered while its process lives', () => {
  const run_dir = temporaryDirectory()
  expect(found(run_dir)).toBe(0)
  serverRequest(run_dir, 'opencode').submit()
  expect(found(run_dir)).toBe(1)
})

test.each([
  [
    'of another start of the machine',
    JSON.stringify({ wish: 'x', pid: process.pid, started: 'another boot' }),
  ],
  ['that was not written to its end', '{"wish":"x","pi'],
  ['of nobody', '{}'],
])('a request %s is ignored', (_, text) => {
  const run_dir = temporaryDirectory()
  fs.writeFileSync(path.join(run_dir, 'opencode-wanted'), text)
  expect(found(run_dir)).toBe(0)
  expect(serverRequest(run_dir, 'opencode').isActive()).toBe(false)
})
