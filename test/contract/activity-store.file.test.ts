import fs from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { openActivityStore } from '../../src/storage/sqlite/activity/activity-store.ts'
import { describeActivityStore } from '../suites/activity-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

async function opened(file: string) {
  const store = await openActivityStore({ file })
  onTestFinished(() => store.close())
  return store
}

describeActivityStore('file', async () => {
  const file = path.join(temporaryDirectory(), 'activity.db')
  const store = await opened(file)
  return {
    store,
    // What a kill leaves: the database, and a -wal file that was not written into it.
    async afterKill() {
      const copy = path.join(temporaryDirectory(), 'activity.db')
      for (const suffix of ['', '-wal']) fs.copyFileSync(file + suffix, copy + suffix)
      return await opened(copy)
    },
  }
})
