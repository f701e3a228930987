import { openActivityStore } from '../../src/storage/sqlite/activity/activity-store.ts'
import { describeActivityStore } from '../suites/activity-store.suite.ts'

describeActivityStore('memory', async () => {
  const store = await openActivityStore({ file: ':memory:' })
  return { store, afterKill: async () => store }
})
