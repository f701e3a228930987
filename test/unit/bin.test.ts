import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { bundle } from '../support/command/bundle.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

test('the exit codes that a service manager treats as final are not passed to child processes', async () => {
  const folder = temporaryDirectory()
  const file = await bundle('src/bin.ts', folder)
  fs.writeFileSync(
    path.join(folder, 'hub.js'),
    'exports.main = async () => { console.log(JSON.stringify(process.env)); process.exitCode = 75 }',
  )
  const env = { PATH: process.env['PATH'], TURNBELL_FINAL_EXITS: '75 78' }
  const { status, stdout } = spawnSync(process.execPath, [file, 'hub'], { env, encoding: 'utf8' })
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).not.toHaveProperty('TURNBELL_FINAL_EXITS')
})
