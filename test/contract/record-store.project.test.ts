import { openProjectRecords } from '../../src/storage/file/project-records.ts'
import { describeRecordStore } from '../suites/record-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const store = async () => {
  const root = temporaryDirectory()
  const open = () => openProjectRecords({ root })
  return { store: open(), afterKill: async () => open() }
}

describeRecordStore('project', store)

// Each has a place of its own.
for (const one of ['entry', 'archive/2026-01-31', 'decision', 'entity']) {
  const another = one === 'entity' ? 'relation' : 'entity'
  describeRecordStore(`project, ${one}`, store, { one, another, odd: one, empty: 'nothing' })
}
