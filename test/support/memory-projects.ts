/** Projects whose records are kept in memory: every absolute directory is there, but for those below /gone. */
import type { RecordStore } from '../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../src/storage/memory/record-store.ts'

export function memoryProjects(): (root: string) => RecordStore | null {
  const opened = new Map<string, RecordStore>()
  return (root) => {
    if (root.startsWith('/gone')) return null
    const records = opened.get(root) ?? createMemoryRecordStore()
    opened.set(root, records)
    return records
  }
}
