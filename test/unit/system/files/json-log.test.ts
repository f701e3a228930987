/** Log of the small processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileLog, stderrLog } from '../../../../src/system/files/json-log.ts'
import { bundle } from '../../../support/command/bundle.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('a line that cannot be written is dropped, and the next one is written when possible', () => {
  const folder = path.join(temporaryHome(), 'logs')
  const file = path.join(folder, 'worker.log')
  const log = fileLog('info', { name: 'worker' }, file)
  expect(() => log.info({}, 'lost')).not.toThrow()
  fs.mkdirSync(folder)
  log.info({}, 'kept')
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toMatchObject({ name: 'worker', msg: 'kept' })
})

const SAYS_GOODBYE = `
  const { stderrLog } = await import(process.argv[1])
  const log = stderrLog('info', { name: 'bridge' })
  process.stdin.on('data', () => log.info({}, 'stopping'))
  process.stdin.on('end', () => process.stdout.write('goodbye'))
`

test('a process whose stderr is not read any more continues and exits', async () => {
  const file = await bundle('src/system/files/json-log.ts', temporaryDirectory())
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SAYS_GOODBYE, file])
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stdin.on('error', () => {})
  child.stderr.destroy()
  await once(child.stderr, 'close')
  child.stdin.end('go')
  expect(await once(child, 'close')).toEqual([0, null])
  expect(said).toBe('goodbye')
})

test('several logs of one process listen to stderr once', () => {
  const before = process.stderr.listenerCount('error')
  for (let log = 0; log < 3; log += 1) stderrLog('info', {})
  expect(process.stderr.listenerCount('error')).toBeLessThanOrEqual(before + 1)
})
