/** What is told of a signal has to be true after a crash as well. */
import { expect, test } from 'vitest'
import { openFileSignalStore } from '../../../src/storage/file/signal-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { MemoryDisk } from '../../support/memory-disk.ts'
import { signalMaker } from '../../support/signals.ts'

const clock = fakeClock()
const make = signalMaker(clock)
const now = new Date(clock.now()).toISOString()

/** A store with one drained signal, whose confirmation waits for its sync. */
async function confirming() {
  const disk = new MemoryDisk()
  const store = await openFileSignalStore({ ...{ directory: '/hub', clock, disk }, onFatal() {} })
  const signal = make.signal()
  await store.append(signal)
  await store.drain(signal.to, { drain_id: 'drain-1', session_id: 'session-1', limit: 1, now })
  disk.held = []
  const confirmed = store.confirm('drain-1', now)
  await eventually('the sync is under way', () => disk.held?.length === 1)
  const finish = () => disk.releaseSyncs()
  return { disk, store, signal, confirmed, finish }
}

test.each(['read', 'query'] as const)('a %s waits for the change that it shows', async (way) => {
  const { store, signal, confirmed, finish } = await confirming()
  let told = false
  const asked =
    way === 'read'
      ? store.read(signal.signal_id)
      : store.query({ limit: 1 }).then(({ signals: [first] }) => first ?? null)
  void asked.then(() => (told = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(told).toBe(false)
  finish()
  expect((await asked)?.stages.confirmed_at).toBe(now)
  await confirmed
  await store.close()
})

test('a look at what waits waits for its append', async () => {
  const { store, finish } = await confirming()
  const signal = make.signal()
  const appended = store.append(signal)
  let told = false
  const looked = store.look(signal.to, 1)
  void looked.then(() => (told = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(told).toBe(false)
  finish()
  expect((await looked).map((one) => one.signal.signal_id)).toEqual([signal.signal_id])
  await appended
  await store.close()
})

test('a store that can write no more still tells what it knows', async () => {
  const { disk, store, signal, confirmed, finish } = await confirming()
  disk.put('/hub/journal/epoch', Buffer.from('2\n'))
  const asked = store.read(signal.signal_id)
  finish()
  await expect(confirmed).rejects.toMatchObject({ code: 'store_fenced' })
  // Nobody knows whether it happened.
  await expect(asked).rejects.toMatchObject({ code: 'store_fenced' })
  expect(await store.read(signal.signal_id)).toMatchObject({ signal_id: signal.signal_id })
  await store.close()
})
