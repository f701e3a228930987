/**
 * A hub over a disk with synchronous syncs, without a round trip to another thread. Decision 29 explains why the
 * product does not use them.
 */
import { systemDisk } from '../../src/storage/file/journal/disk.ts'
import { hubOver } from './hub-over.ts'

await hubOver({
  sync(fd, done) {
    systemDisk.syncNow(fd)
    done(null)
  },
})
