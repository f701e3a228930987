import { expect, test } from 'vitest'
import { stopped } from '../../../adapters/shim-process.ts'
import { silentLog } from '../../../src/ports/log.ts'

async function toldOf(stop?: () => void | Promise<void>): Promise<string[]> {
  const warned: string[] = []
  await stopped(stop, { ...silentLog, warn: (_fields, message) => void warned.push(message) })
  return warned
}

test.each([
  ['nothing', undefined],
  ['what ends well', async () => {}],
])('a shim that has %s to end comes to its end', async (_, stop) => {
  expect(await toldOf(stop)).toEqual([])
})

test.each<[string, () => Promise<void>]>([
  [
    'throws',
    () => {
      throw new Error('no program')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no disk'))],
])('a shim whose end %s comes to it all the same, and says so', async (_, stop) => {
  expect(await toldOf(stop)).toEqual(['not everything was ended'])
})
