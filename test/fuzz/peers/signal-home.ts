/** A hub's directory of signals in memory, and the state that it opens with. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { openFileSignalStore } from '../../../src/storage/file/signals/signal-store.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { MemoryDisk } from '../../support/disk/memory-disk.ts'
import { signalMaker } from '../../support/signals.ts'
import { stateOf } from '../../support/store-state.ts'
import { insist } from '../target.ts'

const HOME = '/hub'
export const SEGMENT = '/hub/journal/0000000001.jsonl'
export const SNAPSHOT = '/hub/snapshot/index.bin'
const DAMAGED = /(?:\/hub\/journal\/0000000001\.jsonl|segment 1) at byte (\d+):/

const clock = fakeClock()

/**
 * Returns a disk with a journal that contains every kind of line; half of the segments end cleanly, and the close left
 * a snapshot.
 */
export async function home(closed: boolean): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const make = signalMaker(clock)
  const store = await openFileSignalStore({ directory: HOME, clock, disk })
  const signals = Array.from({ length: 6 }, (_, at) =>
    make.signal({
      payload: { at },
      priority: at % 3,
      ...(at === 1 ? { idempotency_key: 'k', to_session: 's' } : {}),
    }),
  )
  for (const signal of signals.slice(0, 4)) await store.append(signal)
  await store.appendAll(signals.slice(4))
  const lease = make.lease()
  await store.drain('bob', { ...lease, limit: 2, now: make.at() })
  await store.confirm(lease.drain_id, make.at())
  const second = make.lease()
  await store.drain('bob', { ...second, limit: 2, now: make.at() })
  await store.release(second.drain_id)
  await store.complete('bob', [signals[0]?.signal_id ?? ''], { done: true }, make.at())
  await store.expire(make.at())
  if (closed) await store.close()
  return disk.afterKill()
}

const open = (disk: MemoryDisk) => openFileSignalStore({ directory: HOME, clock, disk })

/** Returns the state after opening, or the position at which opening was rejected. */
export async function opened(
  disk: MemoryDisk,
  onOpen = () => {},
): Promise<{ state: string } | { refused_at: number }> {
  try {
    const store = await open(disk)
    onOpen()
    const state = JSON.stringify(await stateOf(store))
    await store.close()
    return { state }
  } catch (error) {
    if (!(error instanceof TurnbellError) || error.code !== 'store_damaged') throw error
    const at = DAMAGED.exec(error.detail)?.[1]
    insist(at !== undefined, () => `the refusal does not say where: ${error.detail}`)
    return { refused_at: Number(at) }
  }
}

export const diskWith = (bytes: Uint8Array) => {
  const disk = new MemoryDisk()
  disk.put(SEGMENT, bytes)
  return disk
}
