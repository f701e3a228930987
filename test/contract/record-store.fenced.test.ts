import { fencedRecords } from '../../src/storage/fenced-records.ts'
import { createMemoryRecordStore } from '../../src/storage/memory/record-store.ts'
import { describeRecordStore } from '../suites/record-store.suite.ts'

describeRecordStore('fenced', async () => {
  const store = fencedRecords(createMemoryRecordStore(), () => undefined)
  return { store, afterKill: async () => store }
})
