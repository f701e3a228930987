import { openFileSignalStore } from '../../src/storage/file/signals/signal-store.ts'
import { describeSignalStore } from '../suites/signal-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

for (const segment_bytes_max of [64 * 1024 * 1024, 600]) {
  describeSignalStore(`file, segments of ${segment_bytes_max} bytes`, async (clock, retention) => {
    const directory = temporaryDirectory()
    const open = () => openFileSignalStore({ directory, clock, retention, segment_bytes_max })
    let store = await open()
    return {
      store,
      afterKill: async () => (store = await open()),
      async afterClose() {
        await store.close()
        return (store = await open())
      },
    }
  })
}
