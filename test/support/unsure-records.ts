/** Records of a disk that keeps what is put and lets go of what is removed, and at times cannot say that it does. */
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { RecordStore } from '../../src/ports/record-store.ts'

export interface UnsureRecords {
  records: RecordStore
  /** Whether what is put or removed is refused, and done all the same. */
  unsynced: boolean
}

export function unsureRecords(sure: RecordStore): UnsureRecords {
  const unsure = async (change: Promise<void>) => {
    await change
    if (those.unsynced) throw new TurnbellError('store_unavailable', { detail: 'EIO' })
  }
  const those: UnsureRecords = {
    records: {
      ...sure,
      put: (kind, id, body) => unsure(sure.put(kind, id, body)),
      remove: (kind, id) => unsure(sure.remove(kind, id)),
      exclusive: (kind, work) =>
        sure.exclusive(kind, (held) =>
          work({
            ...held,
            put: (id, body) => unsure(held.put(id, body)),
            remove: (id) => unsure(held.remove(id)),
          }),
        ),
    },
    unsynced: false,
  }
  return those
}
