/** Tests when records of an earlier process are synced. */
import { expect, test } from 'vitest'
import type { KindRecords } from '../../../../src/ports/record-store.ts'
import { durableRecords } from '../../../../src/storage/file/records/durable-reads.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'

test('a list waits for a change in progress, and is repeated if that fails', async () => {
  const there = new Set<string>()
  const changes: ((error?: Error) => void)[] = []
  let syncs = 0
  const records = durableRecords(
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
      quarantine: async () => undefined,
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

test('a failure during a sync causes another sync before waiting calls return', async () => {
  const syncs: (() => void)[] = []
  const changes: ((error: Error) => void)[] = []
  const change = () => new Promise<void>((_, fail) => changes.push(fail))
  const none: KindRecords = {
    ...{ get: async () => null, list: async () => [], put: change, remove: change, quarantine: change },
  }
  const records = durableRecords(none, () => new Promise((done) => syncs.push(done)))
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
