import { createMemoryRecordStore } from '../../src/storage/memory/record-store.ts'
import { describeRecordStore } from '../suites/record-store.suite.ts'

describeRecordStore('memory', async () => {
  const store = createMemoryRecordStore()
  return { store, afterKill: async () => store }
})
