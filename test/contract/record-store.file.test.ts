import { createFileRecordStore } from '../../src/storage/file/record-store.ts'
import { describeRecordStore } from '../suites/record-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

describeRecordStore('file', async () => {
  const directory = temporaryDirectory()
  const open = () => createFileRecordStore({ directory })
  return { store: open(), afterKill: async () => open() }
})
