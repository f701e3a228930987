/** Records of a store that another may take: each change first asks whether it is still ours to make. */
import type { HeldRecords, RecordStore } from '../ports/record-store.ts'

/** `check` throws once another has the store; what it throws is what the change rejects with. Reads go on. */
export function fencedRecords(records: RecordStore, check: () => void): RecordStore {
  const held = (own: HeldRecords): HeldRecords => ({
    ...own,
    async put(id, body) {
      check()
      return own.put(id, body)
    },
    async remove(id) {
      check()
      return own.remove(id)
    },
    async setAside(id, reason) {
      check()
      return own.setAside(id, reason)
    },
  })
  return {
    get: (kind, id) => records.get(kind, id),
    list: (kind) => records.list(kind),
    async put(kind, id, body) {
      check()
      return records.put(kind, id, body)
    },
    async remove(kind, id) {
      check()
      return records.remove(kind, id)
    },
    async setAside(kind, id, reason) {
      check()
      return records.setAside(kind, id, reason)
    },
    exclusive: (kind, work) => records.exclusive(kind, (own) => work(held(own))),
  }
}
