import { expect, test } from 'vitest'
import { openFileSignalStore } from '../../../../src/storage/file/signals/signal-store.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { MemoryDisk, systemError, type Operation } from '../../../support/disk/memory-disk.ts'
import { signalMaker } from '../../../support/signals.ts'

async function world() {
  const clock = fakeClock()
  const make = signalMaker(clock)
  const disk = new MemoryDisk()
  const calls = { fatal: 0, writable: 0 }
  const open = () =>
    openFileSignalStore({
      ...{ directory: '/hub', clock, disk },
      onFatal: () => (calls.fatal += 1),
      onWritable: () => (calls.writable += 1),
    })
  const breakAt = (broken: Operation, code: string) =>
    (disk.fault = (operation) => (operation === broken ? systemError(code, operation) : null))
  const mend = () => (disk.fault = () => null)
  const store = await open()
  const later = async (ms: number) => {
    await clock.advance(ms)
    await atRest()
  }
  const fail = async () => expect(store.append(make.signal())).rejects.toThrow('store_unavailable')
  return { clock, make, disk, calls, open, breakAt, mend, store, later, fail }
}

test.each([
  ['full', 'write', 'ENOSPC'],
  ['failing', 'sync', 'EIO'],
] as const)(
  'a %s disk is tried until it accepts writes, which is reported once',
  async (_, operation, code) => {
    const { breakAt, mend, calls, fail, later, disk, open, store, make } = await world()
    breakAt(operation, code)
    await fail()
    expect(calls.fatal).toBe(1)
    await later(100_000)
    expect(calls.writable).toBe(0)
    mend()
    await later(30_000)
    expect(calls.writable).toBe(1)
    expect(disk.names().filter((name) => name.endsWith('.tmp'))).toEqual([])
    await later(100_000)
    expect(calls.writable).toBe(1)
    await store.close()
    const again = await open()
    await again.append(make.signal())
    await again.close()
  },
)

test('a cancelled wait makes no call and leaves no timer', async () => {
  const { breakAt, mend, calls, fail, later, store, clock } = await world()
  breakAt('write', 'ENOSPC')
  await fail()
  await store.close()
  mend()
  await later(100_000)
  expect(calls.writable).toBe(0)
  expect(clock.armed()).toBe(0)
})

test('a store stops waiting for the disk when another hub has taken it', async () => {
  const { breakAt, mend, calls, fail, later, open, store, clock } = await world()
  breakAt('write', 'ENOSPC')
  await fail()
  mend()
  const other = await open()
  expect(() => store.checkOwned()).toThrow('store_fenced')
  await later(100_000)
  expect(calls).toEqual({ fatal: 2, writable: 0 })
  await other.close()
  expect(clock.armed()).toBe(0)
})

test('a fenced store does not wait for the disk', async () => {
  const { calls, later, open, store, make } = await world()
  const other = await open()
  await expect(store.append(make.signal())).rejects.toThrow('store_fenced')
  await later(100_000)
  expect(calls).toEqual({ fatal: 1, writable: 0 })
  await other.close()
})
