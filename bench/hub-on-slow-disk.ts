/** The product's hub over a disk whose syncs take as long as those of a slow one do. See `hub-without-sync.ts`. */
import { main } from '../src/hub/main.ts'
import { systemDisk } from '../src/storage/file/disk.ts'
import { openStores } from '../src/storage/open.ts'
import { SLOW_SYNC_MS } from './slow-sync.ts'

const disk = {
  ...systemDisk,
  sync: (_fd: number, done: (error: null) => void) => void setTimeout(done, SLOW_SYNC_MS, null),
  syncNow: () => {},
}

await main(process.argv.slice(2), (uri, options) => openStores(uri, { ...options, disk }))
