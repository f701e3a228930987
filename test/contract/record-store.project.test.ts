import { openProjectRecords } from '../../src/storage/file/project-records.ts'
import { describeRecordStore } from '../suites/record-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

describeRecordStore('project', async () => {
  const root = temporaryDirectory()
  const open = () => openProjectRecords({ root })
  return { store: open(), afterKill: async () => open() }
})
