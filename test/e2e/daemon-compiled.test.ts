/** Tests that node uses the compiled code of the build when it starts a daemon. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type { Problem } from '../../src/contracts/errors/errors.ts'
import { EXIT } from '../../src/contracts/errors/exit-codes.ts'
import { codeCacheOf } from '../../src/system/process/code-cache.ts'
import { bundle } from '../support/command/bundle.ts'
import { BIN, cleanEnvironment } from '../support/processes/processes.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const DIST = path.dirname(BIN)

/** Runs in a separate process, because the test process may have V8 flags that reject the code. */
async function compiledBefore(file: string): Promise<unknown> {
  const loader = pathToFileURL(await bundle('src/system/process/code-cache.ts', temporaryDirectory())).href
  const ask = `const { loadProgram } = await import(${JSON.stringify(loader)})
    console.log(JSON.stringify(loadProgram(${JSON.stringify(file)}).compiled_before))`
  const { stdout, stderr } = run(['--input-type=module', '-e', ask])
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test('node uses the compiled code of the daemon from the build', async () => {
  const taken = await compiledBefore(path.join(DIST, 'daemon.cjs'))
  expect(taken, 'dist/ is of another node, or its build said why: build it again').toBe(true)
})

test('a daemon starts with invalid compiled code', async () => {
  const dist = path.join(temporaryDirectory(), 'dist')
  fs.cpSync(DIST, dist, { recursive: true })
  const file = path.join(dist, 'daemon.cjs')
  const code = fs.readFileSync(codeCacheOf(file))
  fs.writeFileSync(codeCacheOf(file), code.fill(0, code.length / 2))
  expect(await compiledBefore(file)).toBe(false)
  const asked = ['daemon', '--home', path.dirname(dist), '--persona', 'not a name', '--json']
  const { status, stdout } = run([path.join(dist, 'turnbell.cjs'), ...asked])
  expect((JSON.parse(stdout) as Problem).detail).toContain('not a name')
  expect(status).toBe(EXIT.config_invalid)
})

const run = (args: readonly string[]) =>
  spawnSync(process.execPath, args, { env: cleanEnvironment(), encoding: 'utf8' })
