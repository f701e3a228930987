/**
 * The product's hub over a disk whose syncs let the loop stand still: no hop to another thread and back. See
 * `hub-without-sync.ts`, and decision 29 for why the product does not do so.
 */
import { main } from '../src/hub/main.ts'
import { systemDisk } from '../src/storage/file/disk.ts'
import { openStores } from '../src/storage/open.ts'

const disk = {
  ...systemDisk,
  sync: (fd: number, done: (error: null) => void) => {
    systemDisk.syncNow(fd)
    done(null)
  },
}

await main(process.argv.slice(2), (uri, options) => openStores(uri, { ...options, disk }))
