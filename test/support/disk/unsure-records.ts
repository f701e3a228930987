/** Records of a disk that performs puts and removes, and sometimes cannot confirm them. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'

export interface UnsureRecords {
  records: RecordStore
  /** Whether puts and removes are rejected although they happen. */
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
