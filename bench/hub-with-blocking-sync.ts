/**
 * A hub over a disk whose syncs let the loop stand still: no hop to another thread and back. Decision 29 says why the
 * product does not do so.
 */
import { systemDisk } from '../src/storage/file/disk.ts'
import { hubOver } from './hub-over.ts'

await hubOver({
  sync(fd, done) {
    systemDisk.syncNow(fd)
    done(null)
  },
})
