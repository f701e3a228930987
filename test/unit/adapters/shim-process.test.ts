import { expect, test } from 'vitest'
import { stopQuietly } from '../../../adapters/shim-process.ts'
import { silentLog } from '../../../src/ports/log.ts'

/** Returns the warnings that were logged. */
async function warningsOf(stop?: () => void | Promise<void>): Promise<string[]> {
  const warned: string[] = []
  await stopQuietly(stop, { ...silentLog, warn: (_fields, message) => void warned.push(message) })
  return warned
}

test.each([
  ['nothing', undefined],
  ['a step that succeeds', async () => {}],
])('a shim whose stop is %s logs no warning', async (_, stop) => {
  expect(await warningsOf(stop)).toEqual([])
})

test.each<[string, () => Promise<void>]>([
  [
    'throws',
    () => {
      throw new Error('no program')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no disk'))],
])('a shim whose stop %s logs a warning and does not reject', async (_, stop) => {
  expect(await warningsOf(stop)).toHaveLength(1)
})
