/** When records are synced that others left; what is asked for at once. */
import { expect, test } from 'vitest'
import type { HeldRecords } from '../../../src/ports/record-store.ts'
import { settledRecords } from '../../../src/storage/settled-records.ts'
import { atRest } from '../../support/fake-clock.ts'

test('a list that met a change half-way waits for it, and is read anew where that has failed', async () => {
  const there = new Set<string>()
  const changes: ((error?: Error) => void)[] = []
  let syncs = 0
  const records = settledRecords(
    {
      get: async () => null,
      list: async () => [...there].map((id) => ({ id, body: {} })),
      put: (id) => {
        there.add(id)
        return new Promise((done, fail) =>
          changes.push((error) => (error === undefined ? done() : fail(error))),
        )
      },
      remove: async () => undefined,
      setAside: async () => undefined,
    },
    async () => void (syncs += 1),
  )
  const told: unknown[] = []
  const list = async () => void told.push((await records.list()).map(({ id }) => id))
  const kept = records.put('kept', {})
  await atRest()
  const first = list()
  await atRest()
  expect([told, syncs]).toEqual([[], 1])
  changes[0]?.()
  await Promise.all([kept, first])
  expect([told, syncs]).toEqual([[['kept']], 1])

  const refused = records.put('unsure', {}).catch(() => 'refused')
  await atRest()
  const second = list()
  await atRest()
  changes[1]?.(new Error('EIO'))
  await Promise.all([refused, second])
  expect([told[1], syncs]).toEqual([['kept', 'unsure'], 2])
})

test('a failure while others wait for a sync is synced behind that one before they are told', async () => {
  const syncs: (() => void)[] = []
  const changes: ((error: Error) => void)[] = []
  const change = () => new Promise<void>((_, fail) => changes.push(fail))
  const none: HeldRecords = {
    ...{ get: async () => null, list: async () => [], put: change, remove: change, setAside: change },
  }
  const records = settledRecords(none, () => new Promise((done) => syncs.push(done)))
  const refused = [records.put('a', {}), records.put('b', {})].map((put) => put.catch(() => 'refused'))
  syncs[0]?.()
  await atRest()
  changes[0]?.(new Error('EIO'))
  await atRest()
  let told = false
  const list = records.list().then(() => (told = true))
  changes[1]?.(new Error('EIO'))
  await atRest()
  syncs[1]?.()
  await atRest()
  expect([told, syncs.length]).toEqual([false, 3])
  syncs[2]?.()
  await list
  expect(await Promise.all(refused)).toEqual(['refused', 'refused'])
})
