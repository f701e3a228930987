/** Tests that reported states of a signal survive a crash. */
import { describe, expect, test } from 'vitest'
import type { Signal } from '../../../src/contracts/signal.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { openFileSignalStore } from '../../../src/storage/file/signals/signal-store.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { MemoryDisk, systemError } from '../../support/disk/memory-disk.ts'
import { DAY_MS, signalMaker } from '../../support/signals.ts'
import { stateOf } from '../../support/store-state.ts'

const clock = fakeClock()
const make = signalMaker(clock)
const now = new Date(clock.now()).toISOString()

const lease = (drain_id: string) => ({ drain_id, session_id: 'session-1', now })

/** A store with one drained signal whose confirmation waits for its sync. */
async function confirming() {
  const disk = new MemoryDisk()
  const store = await openFileSignalStore({ ...{ directory: '/hub', clock, disk }, onFatal() {} })
  const signal = make.signal()
  await store.append(signal)
  await store.drain(signal.to, { ...lease('drain-1'), limit: 1 })
  disk.held = []
  const confirmed = store.confirm('drain-1', now)
  await eventually('the sync is under way', () => disk.held?.length === 1)
  const finish = () => disk.releaseSyncs()
  return { disk, store, signal, confirmed, finish }
}

test.each(['read', 'query'] as const)(
  'a %s resolves only when the change it returns is durable',
  async (way) => {
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
  },
)

test('readPending resolves only when the append it returns is durable', async () => {
  const { store, finish } = await confirming()
  const signal = make.signal()
  const appended = store.append(signal)
  let told = false
  const looked = store.readPending(signal.to, 1)
  void looked.then(() => (told = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(told).toBe(false)
  finish()
  expect((await looked).map((one) => one.signal.signal_id)).toEqual([signal.signal_id])
  await appended
  await store.close()
})

describe('a store after a write error', () => {
  test('a store after a write error still answers reads', async () => {
    const { disk, store, signal, confirmed, finish } = await confirming()
    disk.put('/hub/journal/epoch', Buffer.from('2\n'))
    const asked = store.read(signal.signal_id)
    finish()
    await expect(confirmed).rejects.toMatchObject({ code: 'store_fenced' })
    // The outcome is unknown.
    await expect(asked).rejects.toMatchObject({ code: 'store_fenced' })
    expect(await store.read(signal.signal_id)).toMatchObject({ signal_id: signal.signal_id })
    await store.close()
  })

  /** One change of each kind, rejected by a failing disk. */
  const lost: [string, (store: SignalStore, leased: Signal, finished: Signal) => Promise<unknown>][] = [
    ['confirmed', (store) => store.confirm('drain-1', now)],
    ['released', (store) => store.release('drain-1')],
    [
      'given back',
      (store, { signal_id, to }) => store.releaseSignals(to, [{ signal_id, drain_id: 'drain-1' }]),
    ],
    ['completed', (store, { signal_id, to }) => store.complete(to, [signal_id], { done: true }, now)],
    ['replayed', (store, _, finished) => store.replay(finished.signal_id, now)],
    ['drained', (store) => store.drain('ada', { ...lease('drain-2'), limit: 1 })],
    ['expired', (store) => store.expire(new Date(clock.now() + 2 * DAY_MS).toISOString())],
  ]

  test.each(lost)(
    'a store after a write error does not report a signal as %s if that change was lost',
    async (_, change) => {
      const disk = new MemoryDisk()
      const store = await openFileSignalStore({ ...{ directory: '/hub', clock, disk }, onFatal() {} })
      const signal = make.signal()
      await store.append(signal)
      await store.append(make.signal({ to: 'ada', expires_at: make.at(DAY_MS) }))
      const finished = make.signal()
      await store.append(finished)
      await store.complete(finished.to, [finished.signal_id], 'as it was', now)
      await store.drain(signal.to, { ...lease('drain-1'), limit: 1 })
      const { health: before, ...told } = await stateOf(store)
      disk.fault = (operation) => (operation === 'sync' ? systemError('EIO') : null)
      await expect(change(store, signal, finished)).rejects.toMatchObject({ code: 'store_unavailable' })
      disk.fault = () => null
      const { health, ...now_told } = await stateOf(store)
      expect(now_told).toEqual(told)
      expect(health).toMatchObject({
        ...before,
        writable: false,
        reason: expect.any(String) as string,
        hint: expect.any(String) as string,
      })
      await store.close()
    },
  )
})
