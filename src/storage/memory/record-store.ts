/** The reference record store. */
import type { HeldRecords, RecordRow, RecordStore } from '../../ports/record-store.ts'
import { createTurns } from '../turns.ts'

export function createMemoryRecordStore(): RecordStore {
  const kinds = new Map<string, Map<string, RecordRow>>()
  const turns = createTurns()

  const held = (kind: string): HeldRecords => ({
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
    async setAside(id) {
      kinds.get(kind)?.delete(id)
    },
  })

  return {
    put(kind, id, body) {
      // As it is now: the caller may change it while the put waits for its turn.
      const copy = structuredClone(body)
      return turns.one(kind, id, () => held(kind).put(id, copy))
    },
    get: (kind, id) => turns.one(kind, id, () => held(kind).get(id)),
    list: (kind) => held(kind).list(),
    remove: (kind, id) => turns.one(kind, id, () => held(kind).remove(id)),
    setAside: (kind, id, reason) => turns.one(kind, id, () => held(kind).setAside(id, reason)),
    exclusive: (kind, work) => turns.alone(kind, () => work(held(kind))),
  }
}
