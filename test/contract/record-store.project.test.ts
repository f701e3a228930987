import fs from 'node:fs'
import path from 'node:path'
import { openProjectRecords } from '../../src/storage/file/project/project-records.ts'
import { describeRecordStore, describeTakenRecordStore } from '../suites/record-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const store = async () => {
  const root = temporaryDirectory()
  const open = () => openProjectRecords({ root })
  return {
    ...{ store: open(), afterKill: async () => open() },
    /** Simulates a suspension so long that the lock became stale. */
    take() {
      const [lock] = fs
        .readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.lock'))
      fs.rmdirSync(path.join(root, String(lock)))
      fs.mkdirSync(path.join(root, String(lock)))
    },
  }
}

describeRecordStore('project', store)
describeTakenRecordStore('project', store)

// Each of these kinds has a separate place.
for (const one of ['entry', 'archive/2026-01-31', 'decision', 'entity']) {
  const another = one === 'entity' ? 'relation' : 'entity'
  describeRecordStore(`project, ${one}`, store, { one, another, odd: one, empty: 'nothing' })
  describeTakenRecordStore(`project, ${one}`, store, { one })
}
