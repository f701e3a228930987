/** The reference record store. */
import type { RecordBody, RecordStore } from '../../ports/record-store.ts'

export function createMemoryRecordStore(): RecordStore {
  const kinds = new Map<string, Map<string, RecordBody>>()
  return {
    async put(kind, id, body) {
      const records = kinds.get(kind) ?? new Map<string, RecordBody>()
      kinds.set(kind, records.set(id, structuredClone(body)))
    },
    async get(kind, id) {
      return structuredClone(kinds.get(kind)?.get(id) ?? null)
    },
    async list(kind) {
      return [...(kinds.get(kind) ?? [])]
        .map(([id, body]) => ({ id, body: structuredClone(body) }))
        .sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    async remove(kind, id) {
      kinds.get(kind)?.delete(id)
    },
  }
}
