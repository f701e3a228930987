/** Records of a disk that keeps what is put, and at times cannot say that it does. */
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { RecordStore } from '../../src/ports/record-store.ts'

export interface UnsureRecords {
  records: RecordStore
  /** Whether what is put is refused, and there all the same. */
  unsynced: boolean
}

export function unsureRecords(sure: RecordStore): UnsureRecords {
  const unsure = async (put: Promise<void>) => {
    await put
    if (those.unsynced) throw new TurnbellError('store_unavailable', { detail: 'EIO' })
  }
  const those: UnsureRecords = {
    records: {
      ...sure,
      put: (kind, id, body) => unsure(sure.put(kind, id, body)),
      exclusive: (kind, work) =>
        sure.exclusive(kind, (held) => work({ ...held, put: (id, body) => unsure(held.put(id, body)) })),
    },
    unsynced: false,
  }
  return those
}
