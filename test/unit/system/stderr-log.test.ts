/** The log of the small processes. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { fileLog } from '../../../src/system/stderr-log.ts'
import { temporaryHome } from '../../support/processes.ts'

test('a line that cannot be written costs nothing, and the next one is written where it can be', () => {
  const folder = path.join(temporaryHome(), 'logs')
  const file = path.join(folder, 'worker.log')
  const log = fileLog('info', { name: 'worker' }, file)
  expect(() => log.info({}, 'lost')).not.toThrow()
  fs.mkdirSync(folder)
  log.info({}, 'kept')
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toMatchObject({ name: 'worker', msg: 'kept' })
})
