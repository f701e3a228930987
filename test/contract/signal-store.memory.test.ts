import { createMemorySignalStore } from '../../src/storage/memory/signal-store.ts'
import { describeSignalStore } from '../suites/signal-store.suite.ts'

describeSignalStore('memory', async (clock, retention) => {
  const store = createMemorySignalStore(clock, retention)
  return { store, afterKill: async () => store, afterClose: async () => store }
})
