/**
 * The product's hub over a disk that keeps no promise: the difference to the real one is what the
 * syncs cost. Only the bench has this program; nothing the product reads can turn its syncs off.
 */
import { main } from '../src/hub/main.ts'
import { systemDisk } from '../src/storage/file/disk.ts'
import { openStores } from '../src/storage/open.ts'

const disk = {
  ...systemDisk,
  sync: (_fd: number, done: (error: null) => void) => done(null),
  syncNow: () => {},
}

await main(process.argv.slice(2), (uri, options) => openStores(uri, { ...options, disk }))
