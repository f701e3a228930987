/** The reference record store, in memory. */
import type { KindRecords, RecordRow, RecordStore } from '../../ports/record-store.ts'
import { createRecordQueue } from '../file/records/record-queue.ts'

export function createMemoryRecordStore(): RecordStore {
  const kinds = new Map<string, Map<string, RecordRow>>()
  const queue = createRecordQueue()

  const held = (kind: string): KindRecords => ({
    async put(id, body) {
      const records = kinds.get(kind) ?? new Map<string, RecordRow>()
      kinds.set(kind, records.set(id, { id, body: structuredClone(body) }))
    },
    async get(id) {
      return structuredClone(kinds.get(kind)?.get(id)?.body ?? null)
    },
    async list() {
      return [...(kinds.get(kind)?.values() ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    async remove(id) {
      kinds.get(kind)?.delete(id)
    },
    async quarantine(id) {
      kinds.get(kind)?.delete(id)
    },
  })

  return {
    put(kind, id, body) {
      // Copied, because the caller may change the body while the put is queued.
      const copy = structuredClone(body)
      return queue.perKey(kind, id, () => held(kind).put(id, copy))
    },
    get: (kind, id) => queue.perKey(kind, id, () => held(kind).get(id)),
    list: (kind) => held(kind).list(),
    remove: (kind, id) => queue.perKey(kind, id, () => held(kind).remove(id)),
    quarantine: (kind, id, reason) => queue.perKey(kind, id, () => held(kind).quarantine(id, reason)),
    exclusive: (kind, work) => queue.exclusive(kind, () => work(held(kind))),
  }
}
