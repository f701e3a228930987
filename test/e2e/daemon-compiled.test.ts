/** What the build compiles of a daemon is what node takes when it starts one. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type { Problem } from '../../src/contracts/errors.ts'
import { EXIT } from '../../src/contracts/exit-codes.ts'
import { codeCacheOf } from '../../src/system/code-cache.ts'
import { bundle } from '../support/bundle.ts'
import { BIN, cleanEnvironment } from '../support/processes.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const DIST = path.dirname(BIN)

/** Asked of a process of its own: whoever runs the tests may have given this one flags that V8 minds. */
async function compiledBefore(file: string): Promise<unknown> {
  const loader = pathToFileURL(await bundle('src/system/code-cache.ts', temporaryDirectory())).href
  const ask = `const { loadProgram } = await import(${JSON.stringify(loader)})
    console.log(JSON.stringify(loadProgram(${JSON.stringify(file)}).compiled_before))`
  const { stdout, stderr } = run(['--input-type=module', '-e', ask])
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test('node takes what was compiled of the daemon when it was built', async () => {
  const taken = await compiledBefore(path.join(DIST, 'daemon.cjs'))
  expect(taken, 'dist/ is of another node, or its build said why: build it again').toBe(true)
})

test('a daemon is there where that is broken', async () => {
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
