import { describe, expect, test } from 'vitest'
import type { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { openFileSignalStore } from '../../../src/storage/file/signals/signal-store.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { MemoryDisk, systemError } from '../../support/disk/memory-disk.ts'
import { signalMaker } from '../../support/signals.ts'

const clock = fakeClock()
const make = signalMaker(clock)
const EPOCH = '/hub/journal/epoch'

/** A store whose commit has passed the epoch check and waits for its sync. */
async function syncing() {
  const disk = new MemoryDisk()
  const fatal: TurnbellError[] = []
  const store = await openFileSignalStore({
    ...{ directory: '/hub', clock, disk },
    onFatal: (error) => fatal.push(error),
  })
  await store.append(make.signal())
  disk.held = []
  const receipt = store.append(make.signal()).then(
    () => 'confirmed',
    (error: TurnbellError) => error.code,
  )
  await eventually('the sync is under way', () => disk.held?.length === 1)
  const finish = () => disk.releaseSyncs()
  return { disk, store, fatal, receipt, finish }
}

describe('a takeover of the journal during a sync', () => {
  test('a commit synced during a takeover is rejected with store_fenced and the files are not changed', async () => {
    const { disk, store, fatal, receipt, finish } = await syncing()
    disk.put(EPOCH, Buffer.from('2\n'))
    const before = [...disk.files].map(([name, { bytes }]) => [name, bytes.toString()])
    finish()
    expect(await receipt).toBe('store_fenced')
    expect(fatal).toMatchObject([{ code: 'store_fenced' }])
    expect(store.health()).toMatchObject({ writable: false, signals: 1 })
    expect([...disk.files].map(([name, { bytes }]) => [name, bytes.toString()])).toEqual(before)
    await store.close()
  })

  test('a failed sync during a takeover truncates nothing, because the new owner may have accepted the bytes', async () => {
    const { disk, store, receipt, finish } = await syncing()
    disk.put(EPOCH, Buffer.from('2\n'))
    const before = [...disk.files].map(([name, { bytes }]) => [name, bytes.toString()])
    disk.fault = (operation) => (operation === 'sync' ? systemError('EIO') : null)
    finish()
    expect(await receipt).toBe('store_unavailable')
    expect([...disk.files].map(([name, { bytes }]) => [name, bytes.toString()])).toEqual(before)
    await store.close()
  })

  test('a commit is not confirmed if the epoch file was removed during its sync', async () => {
    const { disk, store, receipt, finish } = await syncing()
    disk.remove(EPOCH)
    finish()
    expect(await receipt).toBe('store_unavailable')
    await store.close()
  })

  test('commits synced before a takeover stay confirmed', async () => {
    const { receipt, finish } = await syncing()
    finish()
    expect(await receipt).toBe('confirmed')
  })
})
